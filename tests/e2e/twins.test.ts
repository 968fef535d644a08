// SPDX-License-Identifier: Apache-2.0
// Twins: many sessions with one and the same first request spread over the fleet, and stay where they went.
import assert from "node:assert/strict";
import { test } from "node:test";
import { takeTurn } from "./harness/client.ts";
import { Conversation, systemPrompt } from "./harness/conversation.ts";
import { completion, type Answer } from "./harness/endpoint.ts";
import { startFleet } from "./harness/fleet.ts";

const SESSIONS = 80;

/** Every answer is another one, as a model's are: only from turn 3 on can twins be told apart. */
function numbered(): Answer {
  let count = 0;
  return (exchange, response) => {
    response.writeHead(200, {
      "content-type": "application/json",
      "x-served-by": exchange.endpoint,
    });
    response.end(JSON.stringify(completion(exchange, ++count)));
  };
}

for (const policy of ["sticky", "priced"]) {
  test(`${policy}: second turns of twins that are in flight together do not pile up`, async (t) => {
    const fleet = await startFleet(t, { configuration: { policy }, answer: numbered() });
    const twins = Array.from(
      { length: SESSIONS },
      () => new Conversation("Hello!", { system: systemPrompt(8_000) }),
    );
    const turn = async (): Promise<string[]> => {
      const replies = await Promise.all(
        twins.map((twin, index) => takeTurn(fleet.envoy.url, twin, `And ${index}?`)),
      );
      return replies.map((reply) => String(reply.headers["x-served-by"]));
    };
    await turn();
    const second = await turn();
    const busiest = Math.max(
      ...fleet.endpoints.map(({ address }) => second.filter((each) => each === address).length),
    );
    assert.ok(busiest <= SESSIONS * 0.65, `one endpoint has ${busiest} of ${SESSIONS}`);
    assert.deepEqual(await turn(), second, "later turns stay");
  });
}
