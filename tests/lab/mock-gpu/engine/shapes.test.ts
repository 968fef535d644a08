// SPDX-License-Identifier: Apache-2.0
// The shapes of the textbook: load against throughput and latency, memory against hits, affinity against none.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Cluster } from "../../../../lab/mock-gpu/engine/cluster.ts";
import { Engine } from "../../../../lab/mock-gpu/engine/engine.ts";

const BLOCK = 64;
const OUTPUT_TOKENS = 128;

/** Hashes that no other `id` shares. */
function ownHashes(id: number, blocks: number): Float64Array {
  return Float64Array.from({ length: blocks }, (_, i) => id * 1e6 + i + 1);
}

interface Load {
  tokensPerSecond: number;
  meanTtftMs: number;
}

/** Cold prompts of 4,096 tokens at an even rate for a minute on one GPU. */
function runOpenLoop(requestsPerSecond: number): Load {
  const engine = new Engine({ preset: "8b-h100", blockTokens: BLOCK });
  const count = Math.round(requestsPerSecond * 60);
  let ttftMs = 0;
  let lastMs = 0;
  for (let i = 0; i < count; i++) {
    const nowMs = (i * 1000) / requestsPerSecond;
    engine.advance(nowMs);
    engine.submit(
      {
        prompt: { blockHashes: ownHashes(i, 64), promptTokens: 4096 },
        outputTokens: OUTPUT_TOKENS,
        sink: {
          end: (request, atMs) => {
            ttftMs += request.firstTokenMs - request.arrivalMs;
            lastMs = Math.max(lastMs, atMs);
          },
        },
      },
      nowMs,
    );
  }
  engine.advance(1e9);
  const tokens = engine.counters.promptTokens + engine.counters.outputTokens;
  return { tokensPerSecond: tokens / (lastMs / 1000), meanTtftMs: ttftMs / count };
}

test("throughput follows the load up to the knee and stays there; latency does not", () => {
  const runs = [1, 2, 4, 8, 16, 32].map(runOpenLoop);
  const [low, , , , high, highest] = runs as [Load, Load, Load, Load, Load, Load];
  const offered = 4096 + OUTPUT_TOKENS;
  assert.ok(Math.abs(low.tokensPerSecond / offered - 1) < 0.05);
  for (let i = 1; i < runs.length; i++) {
    assert.ok((runs[i]?.tokensPerSecond ?? 0) > (runs[i - 1]?.tokensPerSecond ?? 0) * 0.98);
    assert.ok((runs[i]?.meanTtftMs ?? 0) > (runs[i - 1]?.meanTtftMs ?? 0));
  }
  assert.ok(highest.tokensPerSecond < high.tokensPerSecond * 1.1, "the knee lies below");
  assert.ok(highest.meanTtftMs > 50 * low.meanTtftMs);
  // The prefill rate of the preset is the ceiling.
  assert.ok(highest.tokensPerSecond < 60_000);
});

interface Session {
  hashes: Float64Array;
  length: number;
}

/** `sessions` sessions in turn, each growing by 1,000 tokens a turn, on engines chosen by `place`. */
function runSessions(
  engines: number,
  sessions: number,
  kvTokens: number,
  place: (session: number, turn: number) => number,
): number {
  const options = { preset: "8b-h100" as const, blockTokens: BLOCK, kvTokens };
  const cluster = new Cluster(Array.from({ length: engines }, () => new Engine(options)));
  const states: Session[] = Array.from({ length: sessions }, (_, id) => ({
    hashes: ownHashes(id, 400),
    length: 4000,
  }));
  let [promptTokens, cachedTokens, nowMs] = [0, 0, 0];
  for (let turn = 0; turn < 12; turn++) {
    states.forEach((session, id) => {
      const request = cluster.submit(
        place(id, turn),
        {
          prompt: { blockHashes: session.hashes, promptTokens: session.length },
          outputTokens: OUTPUT_TOKENS,
        },
        nowMs,
      );
      while (!request.ended) cluster.advance(cluster.nextEventMs());
      nowMs = request.endMs;
      promptTokens += request.promptTokens;
      cachedTokens += request.cachedTokens;
      session.length += 1000 + OUTPUT_TOKENS;
    });
  }
  return cachedTokens / promptTokens;
}

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
