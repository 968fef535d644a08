// SPDX-License-Identifier: Apache-2.0
// How long an endpoint needs to compute a token of a session that it has lost, measured on cold requests.
import { sortAscending } from "./ascending";

const MAX_SAMPLES: i32 = 64;
/** What a request of a 30B model at 80,000 tokens of context takes on one GPU; only until one was measured. */
export const START_REFILL_SECONDS: f64 = 70e-6;
/** Shorter computations say more about noise than about speed. */
const LEAST_TOKENS: f64 = 4_000;
/** Time to first token that no prefill explains. */
const BASE_SECONDS: f64 = 0.03;
const FASTEST_SECONDS: f64 = 1e-7;
const SLOWEST_SECONDS: f64 = 0.1;
const LEAST_SAMPLES: i32 = 5;

/**
 * `median of (TTFT - 30 ms) / (queued + uncached)` over cold requests, at the context lengths that sessions have.
 * With a constant fitted to another GPU, admission falls below no admission.
 */
export class RefillRate {
  /** Seconds per token. */
  seconds: f64 = START_REFILL_SECONDS;
  private count: i32 = 0;
  private next: i32 = 0;
  private readonly samples: StaticArray<f32> = new StaticArray<f32>(MAX_SAMPLES);

  get isMeasured(): bool {
    return this.count >= LEAST_SAMPLES;
  }

  /** One request: tokens computed before its first token, its own and those queued before it. */
  observe(ttftSeconds: f64, queuedTokens: f64, uncachedTokens: f64): void {
    if (uncachedTokens < LEAST_TOKENS || ttftSeconds <= BASE_SECONDS) return;
    const rate = (ttftSeconds - BASE_SECONDS) / (queuedTokens + uncachedTokens);
    this.samples[this.next] = <f32>min(SLOWEST_SECONDS, max(FASTEST_SECONDS, rate));
    this.next = (this.next + 1) % MAX_SAMPLES;
    this.count = min(MAX_SAMPLES, this.count + 1);
  }

  /** Costs a sort: call it from the tick. */
  estimate(): void {
    if (!this.isMeasured) return;
    for (let i = 0; i < this.count; i++) SORTED[i] = <f64>this.samples[i];
    sortAscending(SORTED, this.count);
    this.seconds = SORTED[this.count / 2];
  }

  /** Bytes that `save` writes. */
  get savedBytes(): i32 {
    return 16 + 4 * this.count;
  }

  save(to: usize): void {
    store<f64>(to, this.seconds);
    store<i32>(to, this.count, 8);
    store<i32>(to, this.next, 12);
    memory.copy(to + 16, changetype<usize>(this.samples), 4 * this.count);
  }

  /** Takes over what `save` wrote; returns the bytes read, or 0 where they are none of ours. */
  restore(from: usize, size: i32): i32 {
    if (size < 16) return 0;
    const count = load<i32>(from, 8);
    const next = load<i32>(from, 12);
    if (count < 0 || count > MAX_SAMPLES || size < 16 + 4 * count) return 0;
    if (next < 0 || next >= MAX_SAMPLES) return 0;
    this.seconds = load<f64>(from);
    this.count = count;
    this.next = next;
    memory.copy(changetype<usize>(this.samples), from + 16, 4 * count);
    return this.savedBytes;
  }
}

/** Scratch of `estimate`. */
const SORTED = new StaticArray<f64>(MAX_SAMPLES);
