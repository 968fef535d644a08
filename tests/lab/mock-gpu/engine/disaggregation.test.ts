// SPDX-License-Identifier: Apache-2.0
// Prefill here, decode there: times, transfers, memory and ends of both halves.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cluster } from "../../../../lab/mock-gpu/engine/cluster.ts";
import { Disaggregation } from "../../../../lab/mock-gpu/engine/disaggregation.ts";
import { EngineRefusal } from "../../../../lab/mock-gpu/engine/engine.ts";
import { Log, smallEngine, tokens } from "./workbench.ts";

/** 1,000 bytes a token: 1 ms a token at 1e-3 GB/s, 2 ms setup. */
function pools(prefill: number, decode: number): { cluster: Cluster; fleet: Disaggregation } {
  const engines = Array.from({ length: prefill + decode }, () => smallEngine());
  const cluster = new Cluster(engines);
  const link = { transferGbPerS: 1e-3, setupMs: 2 };
  return { cluster, fleet: new Disaggregation(cluster, { prefill, decode, ...link }) };
}

function drain(cluster: Cluster): void {
  while (cluster.nextEventMs() < Infinity) cluster.advance(cluster.nextEventMs());
}

test("the first token comes after prefill, transfer and one decode step", () => {
  const { cluster, fleet } = pools(1, 1);
  const log = new Log();
  const init = { id: "a", prompt: { tokens: tokens(12) }, outputTokens: 2, sink: log.sink };
  const paired = fleet.submit(0, init, 0);
  drain(cluster);
  /*
   * Prefill 10 + 12; transfer 2 + 12; the decode engine computes the last prompt token (10 + 1),
   * then decodes (10 + 2).
   */
  assert.deepEqual(log.events, ["a@47", "a@59", "a done@59"]);
  assert.equal(paired.firstTokenMs, 47);
  assert.equal(paired.generated, 2);
  assert.equal(paired.promptTokens, 12);
  assert.equal(fleet.transferredBytes(0), 12_000);
});

test("both engines are empty afterwards", () => {
  const { cluster, fleet } = pools(1, 1);
  for (let i = 0; i < 20; i++) {
    fleet.submit(0, { prompt: { tokens: tokens(40, i) }, outputTokens: 5 }, 0);
  }
  drain(cluster);
  for (const engine of cluster.engines) {
    assert.equal(engine.kvUsage, 0);
    assert.equal(engine.counters.done, 20);
  }
});

test("cached tokens are the prefill engine's, and only what the decode engine lacks is moved", () => {
  const { cluster, fleet } = pools(1, 1);
  const first = fleet.submit(0, { prompt: { tokens: tokens(40) }, outputTokens: 1 }, 0);
  drain(cluster);
  assert.equal(first.cachedTokens, 0);
  const moved = fleet.transferredBytes(0);
  const second = fleet.submit(0, { prompt: { tokens: tokens(44) }, outputTokens: 1 }, 5000);
  drain(cluster);
  assert.equal(second.cachedTokens, 40);
  assert.equal(fleet.transferredBytes(0) - moved, 4_000);
});

test("decode goes where the fewest context tokens are", () => {
  const { cluster, fleet } = pools(1, 2);
  const big = fleet.submit(0, { prompt: { tokens: tokens(60, 1) }, outputTokens: 50 }, 0);
  cluster.advance(200);
  const small = fleet.submit(0, { prompt: { tokens: tokens(8, 2) }, outputTokens: 5 }, 200);
  drain(cluster);
  assert.notEqual(big.decodeIndex, small.decodeIndex);
});

test("an abort ends the request once, whichever half it is in", () => {
  for (const atMs of [5, 30, 50]) {
    const { cluster, fleet } = pools(1, 1);
    const log = new Log();
    const init = { id: "a", prompt: { tokens: tokens(12) }, outputTokens: 9, sink: log.sink };
    const paired = fleet.submit(0, init, 0);
    cluster.advance(atMs);
    paired.abort(atMs);
    paired.abort(atMs);
    drain(cluster);
    const ends = log.events.filter((event) => event.includes(" "));
    assert.deepEqual(ends, [`a aborted@${atMs}`]);
    for (const engine of cluster.engines) assert.equal(engine.kvUsage, 0, `at ${atMs}`);
  }
});

test("a request that the decode pool could never finish is refused at once", () => {
  const { cluster, fleet } = pools(1, 1);
  const init = { prompt: { tokens: tokens(390) }, outputTokens: 20 };
  assert.throws(() => fleet.submit(0, init, 0), EngineRefusal);
  assert.equal(cluster.nextEventMs(), Infinity);
});
