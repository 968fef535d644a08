// SPDX-License-Identifier: Apache-2.0
// Follow-ups go home: across workers, connections, failures, and with nothing but the conversation to go by.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  assertNoTrap,
  assertQuiet,
  CHAT_PATH,
  Conversation,
  converse,
  ENDPOINTS,
  startGateway,
  TARGETS,
} from "./harness.ts";

for (const target of TARGETS) {
  describe(`Affinity in the ${target} module`, () => {
    it("sends every follow-up home and spreads first turns, without any session id", async () => {
      const envoy = await startGateway({ target, workers: 2, trace: false });
      const tools = Array.from({ length: 20 }, (_, index) => ({
        type: "function",
        function: { name: `tool_${index}`, description: "does ".repeat(20) },
      }));
      const system = "You work in a team. ".repeat(600);
      const sessions = Array.from(
        { length: 40 },
        (_, index) => new Conversation(`session ${index}`, system, { tools }),
      );
      const open = sessions.map((session) =>
        envoy.send({ path: CHAT_PATH, body: session.body(), response: false }),
      );
      const firsts = new Map(ENDPOINTS.map((address) => [address, 0]));
      for (const stream of open) {
        const address = stream.info.endpoint!.address;
        firsts.set(address, firsts.get(address)! + 1);
        stream.respond();
      }
      assert.deepEqual([...firsts.values()], [10, 10, 10, 10]);
      for (let turn = 1; turn <= 3; turn++) {
        sessions.forEach((session, index) => {
          const seen = converse(envoy, session.next(turn));
          assert.equal(seen.endpoint, open[index]!.info.endpoint!.address);
          assert.equal(seen.upstreamHeaders?.["x-smetric-decision"], "home");
        });
      }
      assertQuiet(envoy);
      assertNoTrap(envoy);
    });

    it("is shared by the workers: turns arrive on different connections and still go home", async () => {
      const envoy = await startGateway({ target, workers: 2 });
      const conversation = new Conversation("a");
      const home = converse(envoy, conversation, { worker: 0 }).endpoint;
      for (let turn = 1; turn <= 6; turn++) {
        const seen = converse(envoy, conversation.next(turn), { worker: turn % 2 });
        assert.equal(seen.endpoint, home);
        assert.equal(seen.upstreamHeaders?.["x-smetric-verified-turn"], String(turn + 1));
      }
    });

    it("does not take few-shot examples for served turns", async () => {
      const envoy = await startGateway({ target });
      const seen = converse(envoy, new Conversation("a").next(1).next(2));
      assert.equal(seen.upstreamHeaders?.["x-smetric-turn"], "3");
      assert.equal(seen.upstreamHeaders?.["x-smetric-verified-turn"], "1");
      assert.equal(seen.upstreamHeaders?.["x-smetric-endpoint"], undefined);
    });

    for (const trouble of ["unhealthy", "ejected", "dead"] as const) {
      it(`finds a new home when the old one is ${trouble}, and stays there`, async () => {
        const envoy = await startGateway({ target });
        const conversation = new Conversation("a");
        const home = envoy.endpoint(converse(envoy, conversation).endpoint!);
        if (trouble === "unhealthy") home.health = "unhealthy";
        if (trouble === "ejected") home.ejected = true;
        if (trouble === "dead") home.reachable = false;
        const moved = converse(envoy, conversation.next(1));
        assert.equal(moved.status, 200);
        assert.notEqual(moved.endpoint, home.address);
        for (let turn = 2; turn <= 5; turn++) {
          assert.equal(converse(envoy, conversation.next(turn)).endpoint, moved.endpoint);
        }
        assertQuiet(envoy);
      });
    }

    it("learns nothing from answers that no endpoint gave or that failed", async () => {
      const envoy = await startGateway({ target });
      const conversation = new Conversation("a");
      converse(envoy, conversation, { response: { status: 429 } });
      const seen = converse(envoy, conversation.next(1));
      assert.equal(seen.upstreamHeaders?.["x-smetric-verified-turn"], "1");
    });

    it("reports what is in front of a clock at the end of a long system text as the prefix", async () => {
      const envoy = await startGateway({ target, configuration: { record: true } });
      const rules = "You work in a team. ".repeat(600);
      const conversation = new Conversation("a", rules + "It is 10:00:01.");
      converse(envoy, conversation, { worker: 0 });
      conversation.next(1).messages[0]!.content = rules + "It is 10:00:07.";
      const changed = converse(envoy, conversation, { worker: 0 });
      assert.equal(changed.upstreamHeaders?.["x-smetric-verified-turn"], "2");
      const prefixOf = (seen: typeof changed) =>
        JSON.parse(String(seen.filterState["wasm.smetric_record"])) as {
          prefix_bytes: number;
          prefix_tokens: number;
        };
      const common = prefixOf(changed);
      assert.equal(common.prefix_bytes, 11 * 1024, "whole KiB of 11.7");
      assert.ok(common.prefix_tokens > 0);
      const steady = prefixOf(converse(envoy, conversation.next(2), { worker: 0 }));
      assert.ok(steady.prefix_bytes > common.prefix_bytes);
      assert.ok(steady.prefix_tokens > common.prefix_tokens);
    });

    it("keeps tenants apart when a header names them", async () => {
      const configuration = { tenant_header: "x-tenant" };
      const envoy = await startGateway({ target, configuration });
      const conversation = new Conversation("a");
      converse(envoy, conversation, { headers: { "x-tenant": "red" } });
      conversation.next(1);
      const other = converse(envoy, conversation, { headers: { "x-tenant": "blue" } });
      assert.equal(other.upstreamHeaders?.["x-smetric-verified-turn"], "1");
      const same = converse(envoy, conversation, { headers: { "x-tenant": "red" } });
      assert.equal(same.upstreamHeaders?.["x-smetric-verified-turn"], "2");
    });
  });
}
