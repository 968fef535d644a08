// SPDX-License-Identifier: Apache-2.0
// The fleet without the filter balances as its name says, so that comparisons compare what they claim.
import assert from "node:assert/strict";
import { test } from "node:test";
import { send } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { startFleet } from "./harness/fleet.ts";

const body = new Conversation("hello").body();

test("baseline: round robin deals one request to each endpoint in turn", async (t) => {
  const fleet = await startFleet(t, {
    bootstrap: "baseline",
    balancing: "round_robin",
    concurrency: 1,
  });
  for (let i = 0; i < 20; i++) await send(fleet.envoy.url, body);
  assert.deepEqual(fleet.counts(), [5, 5, 5, 5]);
});

test("baseline: ring hash keeps a session id on its endpoint", async (t) => {
  const fleet = await startFleet(t, { bootstrap: "baseline", balancing: "ring_hash" });
  for (let session = 0; session < 20; session++) {
    for (let turn = 0; turn < 3; turn++) {
      await send(fleet.envoy.url, body, { headers: { "x-session-id": `session-${session}` } });
    }
  }
  for (const endpoint of fleet.endpoints) {
    assert.equal(endpoint.exchanges.length % 3, 0);
  }
  assert.ok(fleet.counts().filter((count) => count > 0).length >= 3);
});

test("baseline: least request avoids the busy endpoint, and no trace of the filter is seen", async (t) => {
  const fleet = await startFleet(t, { bootstrap: "baseline", concurrency: 1 });
  const [busy] = fleet.endpoints;
  assert.ok(busy);
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  const answer = busy.answer;
  busy.answer = async (exchange, response) => {
    await released;
    await answer(exchange, response);
  };
  const all: Promise<unknown>[] = [];
  while (busy.exchanges.length === 0) {
    const sent = fleet.exchanges.length;
    all.push(send(fleet.envoy.url, body));
    while (fleet.exchanges.length === sent) await new Promise((resolve) => setTimeout(resolve, 1));
  }
  for (let i = 0; i < 20; i++) await send(fleet.envoy.url, body);
  assert.equal(busy.exchanges.length, 1);
  release();
  await Promise.all(all);
  for (const { headers } of fleet.exchanges) {
    assert.deepEqual(
      Object.keys(headers).filter((name) => name.startsWith("x-smetric")),
      [],
    );
  }
});
