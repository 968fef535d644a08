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
const REFUTATIONS: u8 = 2;
const LEAST_CAPACITY: f64 = 60_000;

/** Bytes of one saved sample: value, second, kind and refutations. */
const SAMPLE_BYTES: i32 = 16;

/**
 * A hit at stack distance d says C >= d + expected, a loss C <= d + cached. C minimises the weighted distance to
 * all bounds it violates, `sum_LOWER w max(0, v - C) + sum_UPPER w max(0, C - v)`: one false report cannot move it
 * far, as it would with a single-sample rule.
 */
export class Capacity {
  /** Tokens; Infinity until a loss was seen. */
  tokens: f64 = Infinity;
  private count: i32 = 0;
  private uppers: i32 = 0;
  private readonly values: StaticArray<f64> = new StaticArray<f64>(MAX_SAMPLES);
  private readonly seconds: StaticArray<f64> = new StaticArray<f64>(MAX_SAMPLES);
  private readonly upper: StaticArray<bool> = new StaticArray<bool>(MAX_SAMPLES);
  private readonly refuted: StaticArray<u8> = new StaticArray<u8>(MAX_SAMPLES);

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
      if (!this.upper[i] || REFUTED_BY * this.values[i] >= tokens) continue;
      this.refuted[i] += 1;
      if (this.refuted[i] >= REFUTATIONS) this.remove(i);
    }
    this.add(tokens, false, nowSeconds);
  }

  /** The endpoint holds at most that many tokens. */
  atMost(tokens: f64, nowSeconds: f64): void {
    this.add(tokens, true, nowSeconds);
  }

  /** Fits the capacity to the samples of the last minutes. Costs a sort: call it from the tick. */
  estimate(nowSeconds: f64): void {
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      if (Math.abs(nowSeconds - this.seconds[i]) <= MAX_AGE_SECONDS) this.move(i, kept++);
      else if (this.upper[i]) this.uppers--;
    }
    this.count = kept;
    if (this.uppers == 0) return;
    let slope: f64 = 0;
    for (let i = 0; i < kept; i++) {
      const weight = Math.exp((this.seconds[i] - nowSeconds) / FADE_SECONDS);
      WEIGHTS[i] = weight;
      ORDER[i] = i;
      if (!this.upper[i]) slope -= weight;
    }
    sortIndices(ORDER, this.values, kept);
    let fit = this.values[ORDER[kept - 1]];
    for (let i = 0; i < kept; i++) {
      slope += WEIGHTS[ORDER[i]];
      if (slope < 0) continue;
      fit = this.values[ORDER[i]];
      break;
    }
    this.tokens = max(LEAST_CAPACITY, fit);
  }

  /** Bytes that `save` writes. */
  get savedBytes(): i32 {
    return 16 + this.count * SAMPLE_BYTES;
  }

  save(to: usize): void {
    store<f64>(to, this.tokens);
    store<i32>(to, this.count, 8);
    for (let i = 0; i < this.count; i++) {
      const at = to + 16 + <usize>(i * SAMPLE_BYTES);
      store<f64>(at, this.values[i]);
      const kind: u32 = (this.upper[i] ? 1 : 0) | ((<u32>this.refuted[i]) << 1);
      store<u32>(at, kind, 8);
      store<u32>(at, <u32>this.seconds[i], 12);
    }
  }

  /** Takes over what `save` wrote; returns the bytes read, or 0 where they are none of ours. */
  restore(from: usize, size: i32): i32 {
    if (size < 16) return 0;
    const count = load<i32>(from, 8);
    if (count < 0 || count > MAX_SAMPLES || size < 16 + count * SAMPLE_BYTES) return 0;
    const tokens = load<f64>(from);
    this.tokens = tokens >= LEAST_CAPACITY ? tokens : Infinity;
    this.count = count;
    this.uppers = 0;
    for (let i = 0; i < count; i++) {
      const at = from + 16 + <usize>(i * SAMPLE_BYTES);
      const kind = load<u32>(at, 8);
      this.values[i] = load<f64>(at);
      this.seconds[i] = <f64>load<u32>(at, 12);
      this.upper[i] = (kind & 1) != 0;
      this.refuted[i] = <u8>(kind >> 1);
      if (this.upper[i]) this.uppers++;
    }
    return this.savedBytes;
  }

  private add(tokens: f64, upper: bool, nowSeconds: f64): void {
    if (this.count == MAX_SAMPLES) this.remove(0);
    const i = this.count++;
    this.values[i] = tokens;
    this.seconds[i] = Math.floor(nowSeconds);
    this.upper[i] = upper;
    this.refuted[i] = 0;
    if (upper) this.uppers++;
  }

  /** Samples stay in the order of their time. */
  private remove(i: i32): void {
    if (this.upper[i]) this.uppers--;
    this.count--;
    for (; i < this.count; i++) this.move(i + 1, i);
  }

  private move(from: i32, to: i32): void {
    this.values[to] = this.values[from];
    this.seconds[to] = this.seconds[from];
    this.upper[to] = this.upper[from];
    this.refuted[to] = this.refuted[from];
  }
}

/** Scratch of `estimate`. */
const WEIGHTS = new StaticArray<f64>(MAX_SAMPLES);
const ORDER = new StaticArray<i32>(MAX_SAMPLES);
