// SPDX-License-Identifier: Apache-2.0
// How many tokens of KV an endpoint holds, fitted to what its answers say about hits and losses.
import { sortIndices } from "./ascending";

const MAX_SAMPLES: i32 = 128;
const MAX_AGE_SECONDS: f64 = 300;
/** A sample's weight falls by 1/e in this time. */
const FADE_SECONDS: f64 = 120;
/** A bound from below that exceeds one from above by this much refutes it. */
const REFUTED_BY: f64 = 1.02;
/** One refutation may be a wrong guess of the prefix, two are not. */
const REFUTATIONS: u32 = 2;
const LEAST_CAPACITY: f64 = 60_000;
/** Weights that cancel each other out leave a rest of this size. */
const FLAT: f64 = 1e-9;

/** Bytes of one saved sample: value, second, kind. */
const SAMPLE_BYTES: i32 = 16;
/** Kind of a bound from above; refutations are counted above this bit. */
const UPPER: u32 = 1;
const REFUTATION: u32 = 2;

/**
 * A hit at stack distance d says C >= d + expected, a loss C <= d + cached. C minimises the weighted distance to
 * all bounds it violates, `sum_LOWER w max(0, v - C) + sum_UPPER w max(0, C - v)`: one false report cannot move it
 * far, as it would with a single-sample rule.
 */
export class Capacity {
  /** Tokens; Infinity until a loss was seen. */
  tokens: f64 = Infinity;
  /** Set by `estimate`: up to here no loss contradicts a larger capacity. */
  ceiling: f64 = Infinity;
  private count: i32 = 0;
  private uppers: i32 = 0;
  private readonly values: StaticArray<f64> = new StaticArray<f64>(MAX_SAMPLES);
  /** When each was taken, seconds since the epoch. */
  private readonly seconds: StaticArray<u32> = new StaticArray<u32>(MAX_SAMPLES);
  private readonly kinds: StaticArray<u32> = new StaticArray<u32>(MAX_SAMPLES);

  /** The endpoint was restarted or failed: what was seen of its cache is void, its size is not. */
  clear(): void {
    this.count = 0;
    this.uppers = 0;
  }

  get hasLoss(): bool {
    return this.uppers > 0;
  }

  /** The endpoint holds at least that many tokens. */
  atLeast(tokens: f64, nowSeconds: f64): void {
    for (let i = this.count - 1; i >= 0; i--) {
      if (!this.isUpper(i) || REFUTED_BY * unchecked(this.values[i]) >= tokens) continue;
      this.kinds[i] += REFUTATION;
      if (this.kinds[i] >= REFUTATIONS * REFUTATION) this.remove(i);
    }
    this.add(tokens, 0, nowSeconds);
  }

  /** The endpoint holds at most that many tokens. */
  atMost(tokens: f64, nowSeconds: f64): void {
    this.add(tokens, UPPER, nowSeconds);
  }

  /** Fits the capacity to the samples of the last minutes. Costs a sort: call it from the tick. */
  estimate(nowSeconds: f64): void {
    for (let i = this.count - 1; i >= 0; i--) {
      if (Math.abs(nowSeconds - <f64>this.seconds[i]) > MAX_AGE_SECONDS) this.remove(i);
    }
    const kept = this.count;
    this.ceiling = Infinity;
    if (!this.hasLoss) return;
    let slope: f64 = 0;
    for (let i = 0; i < kept; i++) {
      const weight = Math.exp((<f64>this.seconds[i] - nowSeconds) / FADE_SECONDS);
      WEIGHTS[i] = weight;
      ORDER[i] = i;
      if (!this.isUpper(i)) slope -= weight;
    }
    sortIndices(ORDER, this.values, kept);
    let at = 0;
    for (; at < kept - 1; at++) {
      slope += WEIGHTS[ORDER[at]];
      if (slope >= -FLAT) break;
    }
    const least = this.values[ORDER[at]];
    const most = slope < FLAT && at + 1 < kept ? this.values[ORDER[at + 1]] : least;
    this.ceiling = max(LEAST_CAPACITY, most);
    // Between two bounds that nothing contradicts, what was believed before is as good as any.
    if (this.tokens >= least && this.tokens <= most) return;
    this.tokens = max(LEAST_CAPACITY, least);
  }

  /** Bytes that `save` writes. */
  get savedBytes(): i32 {
    return 16 + this.count * SAMPLE_BYTES;
  }

  save(to: usize): void {
    store<f64>(to, this.tokens);
    store<i32>(to, this.count, 8);
    store<i32>(to, this.uppers, 12);
    const half = this.count * 4;
    memory.copy(to + 16, changetype<usize>(this.values), 2 * half);
    memory.copy(to + 16 + 2 * half, changetype<usize>(this.seconds), half);
    memory.copy(to + 16 + 3 * half, changetype<usize>(this.kinds), half);
  }

  /** Takes over what `save` wrote; returns the bytes read, or 0 where they are none of ours. */
  restore(from: usize, size: i32): i32 {
    if (size < 16) return 0;
    const count = load<i32>(from, 8);
    if (count < 0 || count > MAX_SAMPLES || size < 16 + count * SAMPLE_BYTES) return 0;
    const tokens = load<f64>(from);
    this.tokens = tokens >= LEAST_CAPACITY ? tokens : Infinity;
    this.count = count;
    this.uppers = max(0, min(count, load<i32>(from, 12)));
    const half = count * 4;
    memory.copy(changetype<usize>(this.values), from + 16, 2 * half);
    memory.copy(changetype<usize>(this.seconds), from + 16 + 2 * half, half);
    memory.copy(changetype<usize>(this.kinds), from + 16 + 3 * half, half);
    return this.savedBytes;
  }

  private isUpper(i: i32): bool {
    return (unchecked(this.kinds[i]) & UPPER) != 0;
  }

  private add(tokens: f64, kind: u32, nowSeconds: f64): void {
    if (this.count == MAX_SAMPLES) this.remove(0);
    const i = this.count++;
    this.values[i] = tokens;
    this.seconds[i] = <u32>nowSeconds;
    this.kinds[i] = kind;
    if (kind == UPPER) this.uppers++;
  }

  /** Samples stay in the order of their time. */
  private remove(i: i32): void {
    if (this.isUpper(i)) this.uppers--;
    this.count--;
    const rest = <usize>((this.count - i) * 4);
    const value = changetype<usize>(this.values) + <usize>(8 * i);
    memory.copy(value, value + 8, 2 * rest);
    const second = changetype<usize>(this.seconds) + <usize>(4 * i);
    memory.copy(second, second + 4, rest);
    const kind = changetype<usize>(this.kinds) + <usize>(4 * i);
    memory.copy(kind, kind + 4, rest);
  }
}

/** Scratch of `estimate`. */
const WEIGHTS = new StaticArray<f64>(MAX_SAMPLES);
const ORDER = new StaticArray<i32>(MAX_SAMPLES);
