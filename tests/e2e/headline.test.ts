// SPDX-License-Identifier: Apache-2.0
// The main promise: no session id, one long prompt shared by all, many sessions at once; follow-ups go home, load is even.
import assert from "node:assert/strict";
import { test } from "node:test";
import { takeTurn } from "./harness/client.ts";
import { Conversation, systemPrompt, tools } from "./harness/conversation.ts";
import { completion, type Answer } from "./harness/endpoint.ts";
import { startFleet } from "./harness/fleet.ts";
import { on, WAYS } from "./harness/ways.ts";

const SESSIONS = 200;
const ENDPOINTS = 4;
const FOLLOW_UPS = 3;
const MOST_UNEVEN = 1.1;

/** Answers nobody before `expected` requests are in flight. */
function answerTogether(expected: number): Answer {
  let arrived = 0;
  let open: () => void = () => {};
  const allArrived = new Promise<void>((resolve) => (open = resolve));
  return async (exchange, response) => {
    const serial = ++arrived;
    if (serial === expected) open();
    await allArrived;
    response.writeHead(200, {
      "content-type": "application/json",
      "x-served-by": exchange.endpoint,
    });
    response.end(JSON.stringify(completion(exchange, serial)));
  };
}

for (const way of WAYS) {
  test(
    on(way, "200 sessions without an id: follow-ups go home, first turns are even"),
    async (t) => {
      const fleet = await startFleet(t, {
        ...way,
        size: ENDPOINTS,
        answer: answerTogether(SESSIONS),
      });
      const shared = { system: systemPrompt(12_000), tools: tools(20) };
      const sessions = Array.from(
        { length: SESSIONS },
        (_, index) =>
          new Conversation(`Task ${index}: find the bug in module ${index * 7}.`, shared),
      );
      const takeTurns = async (turn: number): Promise<string[]> =>
        Promise.all(
          sessions.map(async (session, index) => {
            const next = `Go on with step ${turn} of task ${index}.`;
            const reply = await takeTurn(fleet.envoy.url, session, next);
            assert.equal(reply.status, 200);
            return String(reply.headers["x-served-by"]);
          }),
        );

      const homes = await takeTurns(1);
      const firstTurns = fleet.counts();
      const most = Math.max(...firstTurns);
      const even = SESSIONS / ENDPOINTS;
      assert.ok(most <= even * MOST_UNEVEN, `first turns by endpoint: ${firstTurns.join(", ")}`);

      for (let turn = 2; turn <= 1 + FOLLOW_UPS; turn++) {
        const served = await takeTurns(turn);
        const strays = served.filter((endpoint, index) => endpoint !== homes[index]);
        assert.equal(strays.length, 0, `${strays.length} of ${SESSIONS} left home at turn ${turn}`);
      }
      const loads = fleet.counts();
      const total = SESSIONS * (1 + FOLLOW_UPS);
      assert.ok(
        Math.max(...loads) <= (total / ENDPOINTS) * MOST_UNEVEN,
        `load: ${loads.join(", ")}`,
      );
    },
  );
}
