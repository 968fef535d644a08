// SPDX-License-Identifier: Apache-2.0
// All that admission knows of one endpoint, and its form as one value of a table.
import { ageMs } from "../../memory/roster";
import { Capacity } from "./capacity";
import { ENTRY_BYTES, LruStack, MAX_ENTRIES } from "./lru-stack";
import { AdmissionOptions } from "./options";
import { RefillRate } from "./refill-rate";
import { Residency } from "./residency";
import { Window } from "./window";

/** First word of a saved state: another layout gets another number. */
const LAYOUT: u32 = 0x534d0002;
const HEAD_BYTES: i32 = 56;

/** How fast the share of slow hits follows. */
const SLOW_RATE: f64 = 1 / 16;

/** A copy of which less than this share is left is gone. */
const GONE_SHARE: f64 = 0.5;

export class EndpointState {
  readonly stack: LruStack = new LruStack();
  readonly capacity: Capacity = new Capacity();
  readonly window: Window = new Window();
  readonly refill: RefillRate = new RefillRate();
  /** Share of reported hits whose first token took as long as a loss. */
  slowHits: f64 = 0;
  /** Which endpoint has the slot, as memory counts them; 0 = not told yet. */
  generation: u32 = 0;
  /** When it was last refitted, ms since the epoch; 0 = never. */
  refitMs: u64 = 0;

  /** The endpoint failed or was restarted: its cache is empty, its size has not changed. */
  clear(): void {
    this.stack.clear();
    this.capacity.clear();
  }

  /** @param slow 1 = a reported hit took as long as a loss, 0 = it did not */
  noteSlowHit(slow: f64): void {
    this.slowHits += SLOW_RATE * (slow - this.slowHits);
  }

  /** Predicted cached tokens of a session of which `expected` are to be reused. Leaves its distance in the stack. */
  warmTokens(session: u64, expected: f64): f64 {
    if (!this.stack.measure(session)) return 0;
    return min(expected, max(0, this.capacity.tokens - this.stack.high));
  }

  /** Room for so many tokens of a session. An empty endpoint always takes one, so nothing waits for ever. */
  fits(tokens: f64): bool {
    const resident = this.stack.residentTokens;
    return resident + tokens <= this.window.tokens || resident < 1;
  }

  /** A capacity that the operator gave holds from the first session on; a measured one comes with the refits. */
  takeGiven(options: AdmissionOptions): void {
    if (options.capacityTokens <= 0) return;
    this.window.fix(this.capacity, options.capacityTokens, options.windowShare);
  }

  /** Waiting sessions whose copy newer ones have pushed out count no longer. */
  dropGone(): void {
    const capacity = this.capacity.tokens;
    if (this.stack.residentTokens == 0 || capacity == Infinity) return;
    this.stack.uncountGone(capacity, GONE_SHARE);
  }

  /** Follows what answers have said since the last time. Costs two sorts. */
  refit(options: AdmissionOptions, residency: Residency, nowMs: u64): void {
    const elapsedMs = this.refitMs == 0 ? 0 : ageMs(this.refitMs, nowMs);
    this.refitMs = nowMs;
    this.takeGiven(options);
    if (options.capacityTokens <= 0) {
      this.capacity.estimate(<f64>nowMs / 1000);
      this.window.update(this.capacity, this.refill.seconds, <f64>elapsedMs / 1000);
    }
    this.refill.estimate();
    this.stack.cancelLost(nowMs);
    for (let i = 0; i < this.stack.count; i++) {
      if (!this.stack.isResident(i) || this.stack.inFlight(i)) continue;
      const life = residency.seconds(this.stack.stopOf(i));
      if (this.stack.idleSeconds(i, nowMs) > life) this.stack.uncount(i);
    }
    this.dropGone();
  }

  /** Bytes that `save` writes, at most about 9 KiB. */
  get savedBytes(): i32 {
    return (
      HEAD_BYTES +
      this.capacity.savedBytes +
      this.refill.savedBytes +
      this.stack.count * ENTRY_BYTES
    );
  }

  save(to: usize): void {
    store<u32>(to, LAYOUT);
    store<u32>(to, this.window.limited ? 1 : 0, 4);
    store<f64>(to, this.window.tokens, 8);
    store<f64>(to, this.window.lostTokens, 16);
    store<f64>(to, this.window.probe, 24);
    store<i32>(to, this.stack.count, 32);
    store<u32>(to, this.generation, 36);
    store<u64>(to, this.refitMs, 40);
    store<f64>(to, this.slowHits, 48);
    to += HEAD_BYTES;
    this.capacity.save(to);
    to += this.capacity.savedBytes;
    this.refill.save(to);
    to += this.refill.savedBytes;
    this.stack.save(to);
  }

  /** Takes over what `save` wrote. False where the bytes are none of ours: the state is then empty. */
  restore(from: usize, size: i32): bool {
    if (this.tryRestore(from, size)) return true;
    this.clear();
    return false;
  }

  private tryRestore(from: usize, size: i32): bool {
    if (size < HEAD_BYTES || load<u32>(from) != LAYOUT) return false;
    const entries = load<i32>(from, 32);
    if (entries < 0 || entries > MAX_ENTRIES) return false;
    this.window.limited = load<u32>(from, 4) != 0;
    this.window.tokens = load<f64>(from, 8);
    this.window.lostTokens = load<f64>(from, 16);
    this.window.probe = load<f64>(from, 24);
    this.generation = load<u32>(from, 36);
    this.refitMs = load<u64>(from, 40);
    this.slowHits = load<f64>(from, 48);
    let at = HEAD_BYTES;
    const capacityBytes = this.capacity.restore(from + <usize>at, size - at);
    if (capacityBytes == 0) return false;
    at += capacityBytes;
    const refillBytes = this.refill.restore(from + <usize>at, size - at);
    if (refillBytes == 0) return false;
    at += refillBytes;
    if (size - at < entries * ENTRY_BYTES) return false;
    this.stack.restore(from + <usize>at, entries);
    return true;
  }
}
