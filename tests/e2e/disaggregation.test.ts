// SPDX-License-Identifier: Apache-2.0
// Disaggregation: the filter names a prefill endpoint in a header, and Envoy places the request among decode endpoints.
import assert from "node:assert/strict";
import { test } from "node:test";
import { send } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { startFleet } from "./harness/fleet.ts";

const PREFILL_HEADER = "x-prefiller-host-port";
const PREFILL = ["10.0.0.1:8000", "10.0.0.2:8000", "10.0.0.3:8000"];
const SESSIONS = 24;
const TURNS = 4;

test("every turn of a session names the prefill endpoint of its first turn, and sessions spread", async (t) => {
  const fleet = await startFleet(t, {
    configuration: {
      policy: "priced",
      prefill_header: PREFILL_HEADER,
      prefill_endpoints: PREFILL,
    },
  });
  const conversations = Array.from(
    { length: SESSIONS },
    (_, index) => new Conversation(`Disaggregated question ${index}: ${"why ".repeat(400)}`),
  );
  const named = new Map<number, Set<string>>();
  for (let turn = 1; turn <= TURNS; turn++) {
    for (const [index, conversation] of conversations.entries()) {
      const body = conversation.body();
      const answer = await send(fleet.envoy.url, body);
      assert.equal(answer.status, 200);
      const exchange = fleet.exchanges.find((each) => each.body.toString() === body);
      const prefill = String(exchange?.headers[PREFILL_HEADER]);
      assert.ok(PREFILL.includes(prefill), `turn ${turn} names ${prefill}`);
      named.set(index, (named.get(index) ?? new Set()).add(prefill));
      conversation.goOn("Because.", "And then?");
    }
  }
  for (const [index, prefills] of named) assert.equal(prefills.size, 1, `session ${index}`);
  const used = new Set([...named.values()].flatMap((prefills) => [...prefills]));
  assert.equal(used.size, PREFILL.length, "all prefill endpoints are used");
});
