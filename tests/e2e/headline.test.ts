// SPDX-License-Identifier: Apache-2.0
// The main promise: no session id, one long prompt shared by all, many sessions at once; follow-ups go home, load is even.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ENVOY_VERSION } from "../../envoy/find-envoy.ts";
import { takeTurn } from "./harness/client.ts";
import { Conversation, systemPrompt, tools } from "./harness/conversation.ts";
import { completion, type Answer } from "./harness/endpoint.ts";
import { startFleet, until } from "./harness/fleet.ts";
import { isRendered, on, WAYS, type Way } from "./harness/ways.ts";

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

/**
 * Before 1.39, and without the runtime guard that control planes do not set, least request is blind to requests that wait
 * for a connection: there the first requests come one after the other (none of them answered before the last has come),
 * elsewhere all at the same instant.
 */
function countsPending(way: Way): boolean {
  return way.version === ENVOY_VERSION && !isRendered(way.bootstrap);
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
      const takeOne = async (
        session: Conversation,
        index: number,
        turn: number,
      ): Promise<string> => {
        const next = `Go on with step ${turn} of task ${index}.`;
        const reply = await takeTurn(fleet.envoy.url, session, next);
        assert.equal(reply.status, 200);
        return String(reply.headers["x-served-by"]);
      };
      const takeTurns = async (turn: number): Promise<string[]> => {
        const taken: Promise<string>[] = [];
        for (const [index, session] of sessions.entries()) {
          taken.push(takeOne(session, index, turn));
          if (turn > 1 || countsPending(way)) continue;
          await until("it has arrived", () => fleet.exchanges.length === index + 1);
        }
        return Promise.all(taken);
      };

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
