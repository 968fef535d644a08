// SPDX-License-Identifier: Apache-2.0
// What one worker thread learned, all know: a session's turns arrive anywhere and still go home.
import assert from "node:assert/strict";
import { test } from "node:test";
import { takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { startFleet } from "./harness/fleet.ts";
import { on, WAYS } from "./harness/ways.ts";

const SESSIONS = 20;
const TURNS = 5;

for (const way of WAYS) {
  test(on(way, "turns on fresh connections and other workers go home"), async (t) => {
    const fleet = await startFleet(t, { ...way, concurrency: 2 });
    await Promise.all(
      Array.from({ length: SESSIONS }, async (_, index) => {
        const session = new Conversation(`Question ${index}`);
        for (let turn = 1; turn <= TURNS; turn++) {
          const reply = await takeTurn(fleet.envoy.url, session, `More of ${index}, ${turn}`);
          assert.equal(reply.status, 200);
        }
        const answers = session.messages.filter((message) => message.role === "assistant");
        const homes = new Set(answers.map((answer) => answer.content?.split(" of ")[1]));
        assert.equal(homes.size, 1, `session ${index} was served by ${[...homes].join(", ")}`);
      }),
    );
    const stats = await fleet.envoy.stats("worker_[01]\\.downstream_cx_total");
    const connections = Object.values(stats);
    assert.equal(connections.length >= 2, true);
    assert.ok(
      connections.filter((count) => count > 0).length >= 2,
      `connections by worker: ${connections.join(", ")}`,
    );
  });
}
