// SPDX-License-Identifier: Apache-2.0
// The stateless way: first turns by least request, later turns by the hash of the session, in two clusters.
import assert from "node:assert/strict";
import { test } from "node:test";
import { send, takeTurn } from "./harness/client.ts";
import { Conversation, systemPrompt } from "./harness/conversation.ts";
import { startFleet } from "./harness/fleet.ts";
import { HASH_WAYS, on } from "./harness/ways.ts";

const SESSIONS = 40;
const TURNS = 4;

for (const way of HASH_WAYS) {
  test(on(way, "first turns are spread, later turns of a session stay together"), async (t) => {
    const fleet = await startFleet(t, way);
    const system = systemPrompt(4_000);
    const served: string[][] = [];
    await Promise.all(
      Array.from({ length: SESSIONS }, async (_, index) => {
        const session = new Conversation(`Question ${index}`, { system });
        for (let turn = 1; turn <= TURNS; turn++) {
          const reply = await takeTurn(fleet.envoy.url, session, `more ${turn}`);
          assert.equal(reply.status, 200);
        }
        served[index] = session.messages
          .filter((message) => message.role === "assistant")
          .map((message) => message.content?.split(" of ")[1] ?? "");
      }),
    );
    const requests = await fleet.envoy.stats("^cluster\\.llm-(first|follow)\\.upstream_rq_total$");
    assert.deepEqual(requests, {
      "cluster.llm-first.upstream_rq_total": SESSIONS,
      "cluster.llm-follow.upstream_rq_total": SESSIONS * (TURNS - 1),
    });
    // Bounded load may move one when its endpoint is busier than the rest; sessions one after another never move.
    const alone = new Conversation("Alone", { system });
    for (let turn = 1; turn <= TURNS; turn++)
      await takeTurn(fleet.envoy.url, alone, `more ${turn}`);
    const homes = alone.messages
      .filter((message) => message.role === "assistant")
      .map((message) => message.content?.split(" of ")[1]);
    assert.equal(new Set(homes.slice(1)).size, 1);
    const together = served.filter((endpoints) => new Set(endpoints.slice(1)).size === 1);
    assert.ok(together.length >= SESSIONS / 2, `${together.length} of ${SESSIONS} stayed together`);
    assert.equal(new Set(served.map((endpoints) => endpoints[0])).size, 4);
  });

  test(
    on(way, "the key is the session id where there is one, never the client's own headers"),
    async (t) => {
      const fleet = await startFleet(t, way);
      const keys = new Set<string>();
      for (let index = 0; index < 3; index++) {
        const session = new Conversation(`Other text ${index}`);
        session.goOn("an answer", "and on");
        await send(fleet.envoy.url, session.body(), {
          headers: { "x-session-id": "s-1", "x-smetric-session": "forged", "x-smetric-turn": "1" },
        });
      }
      for (const exchange of fleet.exchanges) {
        keys.add(String(exchange.headers["x-smetric-session"]));
        assert.equal(exchange.headers["x-smetric-turn"], "2");
      }
      assert.equal(keys.size, 1);
      assert.equal(keys.has("forged"), false);
    },
  );

  test(on(way, "an endpoint killed between turns costs no error"), async (t) => {
    const fleet = await startFleet(t, way);
    const sessions = Array.from(
      { length: SESSIONS },
      (_, index) => new Conversation(`Question ${index}`),
    );
    const takeTurns = (): Promise<number[]> =>
      Promise.all(
        sessions.map(async (each) => (await takeTurn(fleet.envoy.url, each, "on")).status),
      );
    const served = sessions.map(() => 200);
    assert.deepEqual(await takeTurns(), served);
    assert.deepEqual(await takeTurns(), served);
    await fleet.endpoints[0]?.stop();
    assert.deepEqual(await takeTurns(), served);
    assert.deepEqual(await takeTurns(), served);
  });
}
