// SPDX-License-Identifier: Apache-2.0
// A small engine with round numbers, and a log of what it did, for schedules that fit on paper.
import { Engine } from "../../../../lab/mock-gpu/engine/engine.ts";
import { type EngineOptions } from "../../../../lab/mock-gpu/engine/options.ts";
import { type RequestSink } from "../../../../lab/mock-gpu/engine/request.ts";

/** Four-token blocks; a step costs 10 ms, 1 ms per prefill token and 2 ms per decoding sequence. */
export const SMALL: EngineOptions = {
  cost: {
    baseMs: 10,
    prefillTokenMs: 1,
    prefillPairMs: 0,
    decodeSequenceMs: 2,
    decodeContextTokenMs: 0,
  },
  kvTokens: 400,
  kvBytesPerToken: 1000,
  blockTokens: 4,
  maxBatchedTokens: 16,
  maxSequences: 8,
};

export function smallEngine(options: EngineOptions = {}): Engine {
  return new Engine({ ...SMALL, ...options });
}

/** `count` token ids that no other `salt` shares. */
export function tokens(count: number, salt = 1): number[] {
  return Array.from({ length: count }, (_, i) => salt * 100_000 + i);
}

/** Collects "id@ms" for every token and "id end@ms" for every end. */
export class Log {
  readonly events: string[] = [];
  readonly sink: RequestSink = {
    tokens: (request, count, nowMs) => {
      for (let i = 0; i < count; i++) this.events.push(`${request.id}@${nowMs}`);
    },
    end: (request, nowMs) => this.events.push(`${request.id} ${request.endReason}@${nowMs}`),
  };
}

/** Runs until nothing is left to do; answers the time of the last event. */
export function drain(engine: Engine, limitMs = 1e9): number {
  let lastMs = 0;
  for (;;) {
    const nextMs = engine.nextEventMs();
    if (nextMs === Infinity || nextMs > limitMs) return lastMs;
    engine.advance(nextMs);
    lastMs = nextMs;
  }
}
