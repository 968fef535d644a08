// SPDX-License-Identifier: Apache-2.0
// The shapes of the textbook: load against throughput and latency, memory against hits, affinity against none.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  drawShapes,
  type Load,
  OFFERED_TOKENS,
  runOpenLoop,
  runSessions,
} from "../../../../lab/replay/shapes/runs.ts";
import { renderShapes } from "../../../../lab/replay/shapes/html.ts";

test("throughput follows the load up to the knee and stays there; latency does not", () => {
  const runs = [1, 2, 4, 8, 16, 32].map(runOpenLoop);
  const [low, , , , high, highest] = runs as [Load, Load, Load, Load, Load, Load];
  assert.ok(Math.abs(low.tokensPerSecond / OFFERED_TOKENS - 1) < 0.05);
  for (let i = 1; i < runs.length; i++) {
    assert.ok((runs[i]?.tokensPerSecond ?? 0) > (runs[i - 1]?.tokensPerSecond ?? 0) * 0.98);
    assert.ok((runs[i]?.meanTtftMs ?? 0) > (runs[i - 1]?.meanTtftMs ?? 0));
  }
  assert.ok(highest.tokensPerSecond < high.tokensPerSecond * 1.1, "the knee lies below");
  assert.ok(highest.meanTtftMs > 50 * low.meanTtftMs);
  // The prefill rate of the preset is the ceiling.
  assert.ok(highest.tokensPerSecond < 60_000);
});

test("hits grow with memory, and no further once all sessions fit", () => {
  const hits = [20_000, 60_000, 120_000, 240_000, 480_000].map((kvTokens) =>
    runSessions(1, 10, kvTokens, () => 0),
  );
  for (let i = 1; i < hits.length; i++) assert.ok((hits[i] ?? 0) >= (hits[i - 1] ?? 0));
  assert.ok((hits[0] ?? 1) < 0.05, "sessions in turn are the worst case of LRU");
  assert.ok((hits[4] ?? 0) > 0.85);
  assert.equal(hits[3], hits[4]);
});

test("perfect affinity finds what there is; round robin over four engines a fraction", () => {
  const affinity = runSessions(4, 16, 400_000, (session) => session % 4);
  let next = 0;
  const roundRobin = runSessions(4, 15, 400_000, () => next++ % 4);
  assert.ok(affinity > 0.85, String(affinity));
  assert.ok(roundRobin < 0.7 * affinity, String(roundRobin));
});

test("the page draws the same shapes and needs nothing from elsewhere", async () => {
  const shapes = drawShapes();
  const last = (curve: { y: number }[]): number => curve.at(-1).y;
  assert.ok(last(shapes.throughput) < 0.7 * last(shapes.offered), "beyond the knee");
  assert.ok(last(shapes.lruHits) > 0.85);
  for (const [index, { y }] of shapes.roundRobinHits.entries()) {
    const affinity = shapes.affinityHits[index]!;
    assert.ok(affinity.x === 1 ? y === affinity.y : y < affinity.y, `${affinity.x} endpoints`);
  }
  const page = await renderShapes(shapes);
  assert.ok(page.includes('"lruHits":[{"x":20000'));
  assert.doesNotMatch(page, /<(script|link)[^>]+(src|href)=/);
});
