// SPDX-License-Identifier: Apache-2.0
// What is known of each endpoint beyond its gauges: when it served, what is committed to it, what was evicted.
import { PackedValue } from "./packed-value";
import { isDue } from "./roster";
import { SharedStore, Write } from "./shared-store";

/** Slots of one shared value: a fleet of the usual size is read at once. */
export const SLOTS_PER_VALUE: i32 = 64;
const FORMAT: u16 = 0x0102;
/** A pick may use numbers that are this old: other workers' answers change them little. */
const RECENT_MS: u64 = 20;

/** Committed tokens count for 120 s, in steps of 20 s. */
const BIN_SECONDS: u32 = 20;
const BINS: i32 = 6;
/** Heads (an application's tools and system text) remembered per endpoint. */
const HEADS: i32 = 8;


@unmanaged
export class SlotNumbers {
  /** Of the endpoint that these numbers belong to; those of an earlier one count as absent. */
  generation: u16;
  /** Pins in a row that Envoy sent elsewhere. */
  disobeyed: u8;
  reserved: u8;
  /** Seconds since the epoch. */
  servedS: u32;
  /** Prefixes not used since then were seen evicted, ms since the epoch. */
  horizonMs: u64;
  /** Number of the newest bin: seconds since the epoch / BIN_SECONDS. */
  bin: u32;
  reserved1: u32;

  /** Empties the row for the endpoint that has the slot now. */
  restart(generation: u16): void {
    memory.fill(changetype<usize>(this), 0, <usize>ROW_BYTES);
    this.generation = generation;
  }

  /** r: context tokens of the sessions whose last request went here within the committed window. */
  committedTokens(nowMs: u64): f64 {
    const now = binOf(nowMs);
    let sum: f64 = 0;
    for (let back: u32 = 0; back < <u32>BINS; back++) {
      if (this.bin < back || this.bin - back + <u32>BINS <= now) break;
      sum += <f64>load<f32>(this.binAddress(this.bin - back));
    }
    return sum;
  }

  commitTokens(tokens: f32, nowMs: u64): void {
    this.advance(binOf(nowMs));
    this.addToBin(this.bin, tokens);
  }

  /** Takes back what a session committed at `thenMs`: its next request went somewhere. */
  releaseTokens(tokens: f32, thenMs: u64, nowMs: u64): void {
    const then = binOf(thenMs);
    this.advance(binOf(nowMs));
    if (then > this.bin || then + <u32>BINS <= this.bin) return;
    this.addToBin(then, -tokens);
  }

  hasHead(head: u32): bool {
    for (let i = 0; i < HEADS; i++) {
      if (load<u32>(this.headAddress(i)) == head) return true;
    }
    return false;
  }

  /** Remembers a head as the newest. */
  serveHead(head: u32): void {
    let carried = head;
    for (let i = 0; i < HEADS; i++) {
      const address = this.headAddress(i);
      const here = load<u32>(address);
      store<u32>(address, carried);
      if (here == head || here == 0) return;
      carried = here;
    }
  }

  forgetHeads(): void {
    memory.fill(this.headAddress(0), 0, <usize>(HEADS << 2));
  }

  private advance(now: u32): void {
    if (now <= this.bin) return;
    const steps = min(now - this.bin, <u32>BINS);
    for (let i: u32 = 0; i < steps; i++) store<f32>(this.binAddress(now - i), 0);
    this.bin = now;
  }

  private addToBin(bin: u32, tokens: f32): void {
    const address = this.binAddress(bin);
    store<f32>(address, max<f32>(0, load<f32>(address) + tokens));
  }

  private binAddress(bin: u32): usize {
    return changetype<usize>(this) + offsetof<SlotNumbers>() + <usize>((bin % <u32>BINS) << 2);
  }

  private headAddress(index: i32): usize {
    return changetype<usize>(this) + offsetof<SlotNumbers>() + <usize>((BINS + index) << 2);
  }
}

const ROW_BYTES: i32 = <i32>offsetof<SlotNumbers>() + (BINS + HEADS) * 4;

function binOf(ms: u64): u32 {
  return <u32>(ms / (<u64>BIN_SECONDS * 1_000));
}

/** The numbers of a fleet, in values of SLOTS_PER_VALUE slots. */
export class NumbersTable extends PackedValue {
  private group: i32 = -1;
  private keptMs: u64 = 0;

  constructor(store: SharedStore, name: string) {
    super(store, name + ".n", FORMAT, ROW_BYTES, SLOTS_PER_VALUE);
  }

  /** Opens the value that holds a slot; valid until the next read of the store. */
  openFor(slot: i32): void {
    this.group = slot / SLOTS_PER_VALUE;
    this.open(<u32>this.group);
  }

  /** The same for a pick: what this worker itself read or wrote a moment ago will do. */
  openRecent(slot: i32, nowMs: u64): void {
    this.group = slot / SLOTS_PER_VALUE;
    const group = <u32>this.group;
    if (!isDue(this.keptMs, RECENT_MS, nowMs) && this.openKept(group)) return;
    this.keep(group);
    this.keptMs = nowMs;
  }

  /** Writes what `editFor` opened. */
  save(nowMs: u64): Write {
    this.keptMs = nowMs;
    return this.commit();
  }

  editFor(slot: i32): void {
    this.group = slot / SLOTS_PER_VALUE;
    this.edit(<u32>this.group);
  }

  covers(slot: i32): bool {
    return slot / SLOTS_PER_VALUE == this.group;
  }

  /** Numbers of a slot of the open value, or null where there are none for that generation. */
  peek(slot: i32, generation: u16): SlotNumbers | null {
    const index = slot % SLOTS_PER_VALUE;
    if (index >= this.count) return null;
    const row = changetype<SlotNumbers>(this.row(index));
    return row.generation == generation ? row : null;
  }

  /** The same while editing: a missing row is begun. */
  claim(slot: i32, generation: u16): SlotNumbers {
    const index = slot % SLOTS_PER_VALUE;
    this.extend(index + 1);
    const row = changetype<SlotNumbers>(this.row(index));
    if (row.generation != generation) row.restart(generation);
    return row;
  }
}
