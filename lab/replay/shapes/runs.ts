// SPDX-License-Identifier: Apache-2.0
// Small runs of the engine model whose results have shapes that a textbook draws.
import { Cluster } from "../../mock-gpu/engine/cluster.ts";
import { Engine } from "../../mock-gpu/engine/engine.ts";

const BLOCK = 64;
const OUTPUT_TOKENS = 128;

/** Hashes that no other `id` shares. */
function ownHashes(id: number, blocks: number): Float64Array {
  return Float64Array.from({ length: blocks }, (_, i) => id * 1e6 + i + 1);
}

export interface Load {
  tokensPerSecond: number;
  meanTtftMs: number;
}

/** Tokens of a request of the open loop. */
export const OFFERED_TOKENS = 4096 + OUTPUT_TOKENS;

/** Cold prompts of 4,096 tokens at an even rate for a minute on one GPU. */
export function runOpenLoop(requestsPerSecond: number): Load {
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

interface Session {
  hashes: Float64Array;
  length: number;
}

/** Hit rate of `sessions` sessions in turn, each growing by 1,000 tokens a turn, on engines chosen by `place`. */
export function runSessions(
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

/** One curve: points in order of `x`. */
export type Curve = { x: number; y: number }[];

/** The curves of the page. */
export interface Shapes {
  /** Requests per second against prompt and output tokens per second: what is asked for, what is done. */
  offered: Curve;
  throughput: Curve;
  /** Requests per second against the mean time to the first token in seconds. */
  ttft: Curve;
  /** KV tokens against the hit rate of ten sessions in turn on one GPU. */
  lruHits: Curve;
  /** Endpoints against the hit rate. */
  affinityHits: Curve;
  roundRobinHits: Curve;
}

const RATES_PER_S = [1, 2, 4, 6, 8, 10, 12, 14, 16, 20, 24, 32];
const KV_TOKENS = [20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 240, 320].map((k) => k * 1000);
const ENDPOINTS = [1, 2, 3, 4, 6, 8];
/** Shares no factor with the numbers of endpoints, so that turns in order do not go home by themselves. */
const AFFINITY_SESSIONS = 17;
const ROOMY_KV_TOKENS = 400_000;

function curve(xs: readonly number[], y: (x: number) => number): Curve {
  return xs.map((x) => ({ x, y: y(x) }));
}

function roundRobinHit(engines: number): number {
  let next = 0;
  return runSessions(engines, AFFINITY_SESSIONS, ROOMY_KV_TOKENS, () => next++ % engines);
}

function affinityHit(engines: number): number {
  return runSessions(engines, AFFINITY_SESSIONS, ROOMY_KV_TOKENS, (session) => session % engines);
}

/** Runs everything; takes seconds. */
export function drawShapes(): Shapes {
  const loads = RATES_PER_S.map(runOpenLoop);
  const ofLoad = (value: (load: Load) => number): Curve =>
    loads.map((load, index) => ({ x: RATES_PER_S[index]!, y: value(load) }));
  return {
    offered: curve(RATES_PER_S, (rate) => rate * OFFERED_TOKENS),
    throughput: ofLoad((load) => load.tokensPerSecond),
    ttft: ofLoad((load) => load.meanTtftMs / 1000),
    lruHits: curve(KV_TOKENS, (kvTokens) => runSessions(1, 10, kvTokens, () => 0)),
    affinityHits: curve(ENDPOINTS, affinityHit),
    roundRobinHits: curve(ENDPOINTS, roundRobinHit),
  };
}
