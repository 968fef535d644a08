// SPDX-License-Identifier: Apache-2.0
// Whatever the load: tokens are hit, fetched or computed, every request ends once, blocks come back.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Engine } from "../../../../lab/mock-gpu/engine/engine.ts";
import { type EngineOptions } from "../../../../lab/mock-gpu/engine/options.ts";
import { type EngineRequest, type ServedRequest } from "../../../../lab/mock-gpu/engine/request.ts";
import { KvTier } from "../../../../lab/mock-gpu/engine/kv-tier.ts";
import { SMALL, tokens } from "./workbench.ts";

/** mulberry32 */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

interface Run {
  engine: Engine;
  requests: EngineRequest[];
  ends: Map<ServedRequest, number>;
  trace: string[];
}

/** Sessions that grow, arrive at random and are sometimes abandoned. */
function runLoad(options: EngineOptions, seed: number, arrivals = 300): Run {
  const engine = new Engine({ ...SMALL, ...options });
  const chance = random(seed);
  const sessions = Array.from({ length: 12 }, (_, i) => tokens(6 + i, i + 1));
  const run: Run = { engine, requests: [], ends: new Map(), trace: [] };
  let nowMs = 0;
  for (let i = 0; i < arrivals; i++) {
    nowMs += Math.floor(chance() * 60);
    engine.advance(nowMs);
    const session = sessions[Math.floor(chance() * sessions.length)] as number[];
    const answer = tokens(1 + Math.floor(chance() * 12), 1000 + i);
    const request = engine.submit(
      {
        id: `r${i}`,
        prompt: { tokens: [...session] },
        outputTokens: answer.length,
        outputTokenIds: answer,
        priority: options.scheduling === "priority" ? Math.floor(chance() * 3) : 0,
        endsInWait: chance() < 0.5,
        sink: {
          end: (ended, atMs) => {
            run.ends.set(ended, (run.ends.get(ended) ?? 0) + 1);
            run.trace.push(`${ended.id} ${ended.endReason} ${atMs} ${ended.cachedTokens}`);
          },
        },
      },
      nowMs,
    );
    run.requests.push(request);
    if (session.length < 60) session.push(...answer, ...tokens(3, 5000 + i));
    if (chance() < 0.05) engine.abort(request, nowMs);
  }
  for (let guard = 0; engine.nextEventMs() < Infinity; guard++) {
    assert.ok(guard < 1e6, "the engine never comes to rest");
    engine.advance(engine.nextEventMs());
  }
  return run;
}

function tier(readGbPerS: number, capacityTokens: number): KvTier {
  const bytesPerToken = SMALL.kvBytesPerToken ?? 0;
  return new KvTier({ name: "t", capacityTokens, blockTokens: 4, bytesPerToken, readGbPerS });
}

const CASES: [string, () => EngineOptions][] = [
  ["room for all", () => ({ kvTokens: 4000 })],
  ["little memory", () => ({ kvTokens: 120 })],
  ["little memory without reservation", () => ({ kvTokens: 120, reserveFullPrompt: false })],
  ["priorities", () => ({ kvTokens: 160, scheduling: "priority", reserveFullPrompt: false })],
  ["no prefix cache", () => ({ kvTokens: 200, prefixCaching: false })],
  ["a fast tier", () => ({ kvTokens: 120, tiers: [tier(1, 2000)] })],
  [
    "a slow tier that is always used",
    () => ({ kvTokens: 120, tiers: [tier(1e-3, 300)], fetch: "always" }),
  ],
  ["kept waits", () => ({ kvTokens: 160, retention: { policy: "keep", keepMs: 2000 } })],
  [
    "offloaded waits",
    () => ({ kvTokens: 160, tiers: [tier(1, 2000)], retention: { policy: "offload" } }),
  ],
  ["dropped waits", () => ({ kvTokens: 160, retention: { policy: "drop" } })],
  [
    "adaptive waits",
    () => ({ kvTokens: 160, tiers: [tier(1, 900)], retention: { policy: "adaptive" } }),
  ],
];

for (const [name, options] of CASES) {
  test(`nothing is lost with ${name}`, () => {
    for (const seed of [1, 2, 3]) {
      const { engine, requests, ends } = runLoad(options(), seed);
      for (const request of requests) assert.equal(ends.get(request), 1, `${request.id} ends once`);
      for (const request of requests.filter(({ endReason }) => endReason === "done")) {
        const covered = request.localTokens + request.fetchedTokens + request.computedTokens;
        // The last output token leaves the model but never goes back into it.
        assert.equal(covered, request.promptTokens + request.generated - 1, request.id);
        assert.equal(request.generated, request.outputTokens);
        assert.ok(request.firstScheduledMs >= request.arrivalMs);
        assert.ok(request.firstTokenMs > request.firstScheduledMs);
        assert.ok(request.endMs >= request.firstTokenMs);
        assert.ok(request.cachedTokens >= 0 && request.cachedTokens < request.promptTokens);
      }
      const { submitted, done, aborted } = engine.counters;
      assert.equal(submitted, done + aborted);
      assert.equal(engine.running + engine.waiting, 0);
      engine.releaseRetained(1e12);
      assert.equal(engine.kvUsage, 0);
    }
  });

  test(`the same seed gives the same run with ${name}`, () => {
    assert.deepEqual(runLoad(options(), 7, 150).trace, runLoad(options(), 7, 150).trace);
  });
}

test("more memory never finds less", () => {
  const hits = [100, 200, 400, 4000].map(
    (kvTokens) => runLoad({ kvTokens }, 5).engine.counters.hitTokens,
  );
  assert.deepEqual(
    hits,
    [...hits].sort((a, b) => a - b),
  );
});
