// SPDX-License-Identifier: Apache-2.0
// What memory needs of its surroundings: values shared by all workers with compare-and-swap, and shared gauges.

/** What came of a write. */
export enum Write {
  Written = 0,
  /** Somebody wrote since the version was read: read again. */
  Conflict = 1,
  /** The store refuses; what is lost is one cache miss. */
  Failed = 2,
}

/**
 * Version of a value that does not exist. Never handed out for an existing one: Envoy ignores the compare value
 * of a missing key and refuses a wrong one, so a first write cannot overwrite another worker's first write.
 */
export const ABSENT: u32 = 0xffffffff;

/** Attempts to write a value that other workers write too; the change is dropped after the last. */
export const WRITE_ATTEMPTS: i32 = 4;

/** Values by key, shared by every VM of an Envoy. Keys are never deleted, so there is a fixed number of them. */
export abstract class SharedStore {
  /** The value that the last `read` found. Writable, and valid until the next read. */
  data: usize = 0;
  size: i32 = 0;
  /** For `write`; ABSENT where there is no value. */
  version: u32 = ABSENT;

  /** Fills `data`, `size` and `version`; false and an empty value where the key is missing. */
  abstract read(key: usize, keySize: i32): bool;

  /** Writes if the version is still the one that was read. */
  abstract write(key: usize, keySize: i32, data: usize, size: i32, version: u32): Write;
}

export enum GaugeKind {
  /** Requests in flight. */
  InFlight = 0,
  /** Uncached prompt tokens sent whose first byte has not come back. */
  PendingPrefill = 1,
  /** Prompt tokens of all requests in flight. */
  Context = 2,
}

export const GAUGE_KINDS: i32 = 3;

/** Above this a gauge went below zero and wrapped. */
const WRAPPED: u64 = 1 << 63;
const UNDEFINED: u32 = 0xffffffff;

/**
 * Gauges of one fleet, one per kind and slot, atomic across all workers. Arithmetic is modulo 2^64, so adds of
 * different workers commute whatever their order.
 *
 * What this VM counts is `due` until it is given to the shared gauges: this VM sees it at once, the others a tick
 * later. A request moves six gauges, and each move is a call into the host.
 */
export abstract class Gauges {
  private ids: StaticArray<u32>;
  /** As last read, with what this VM has counted since. */
  private values: StaticArray<u64>;
  private due: StaticArray<i64>;
  /** Slots with something due. */
  private dueSlots: StaticArray<i32>;
  private isListed: StaticArray<bool>;
  dueCount: i32 = 0;
  /** When a slot's gauges were last read. */
  private readMs: StaticArray<u64>;

  constructor(slots: i32) {
    this.ids = new StaticArray<u32>(slots * GAUGE_KINDS);
    this.values = new StaticArray<u64>(slots * GAUGE_KINDS);
    this.due = new StaticArray<i64>(slots * GAUGE_KINDS);
    this.dueSlots = new StaticArray<i32>(slots);
    this.isListed = new StaticArray<bool>(slots);
    this.readMs = new StaticArray<u64>(slots);
    memory.fill(changetype<usize>(this.ids), 0xff, (<usize>(slots * GAUGE_KINDS)) << 2);
  }

  /** Adds at once. */
  add(kind: GaugeKind, slot: i32, change: i64): void {
    if (change == 0) return;
    this.addTo(this.idOf(kind, slot), change);
    this.values[slot * GAUGE_KINDS + <i32>kind] += <u64>change;
  }

  /** Notes what is to be added with the next `give`. Slots are the roster's: the caller has checked them. */
  count(kind: GaugeKind, slot: i32, change: i64): void {
    if (change == 0) return;
    const index = slot * GAUGE_KINDS + <i32>kind;
    unchecked((this.values[index] += <u64>change));
    unchecked((this.due[index] += change));
    if (unchecked(this.isListed[slot])) return;
    unchecked((this.isListed[slot] = true));
    unchecked((this.dueSlots[this.dueCount++] = slot));
  }

  dueSlot(index: i32): i32 {
    return this.dueSlots[index];
  }

  dueOf(kind: GaugeKind, slot: i32): i64 {
    return this.due[slot * GAUGE_KINDS + <i32>kind];
  }

  /** Adds all that is due to the shared gauges. */
  give(): void {
    for (let i = 0; i < this.dueCount; i++) {
      const slot = this.dueSlots[i];
      this.isListed[slot] = false;
      for (let kind = 0; kind < GAUGE_KINDS; kind++) {
        const index = slot * GAUGE_KINDS + kind;
        const change = this.due[index];
        if (change == 0) continue;
        this.due[index] = 0;
        this.addTo(this.idOf(<GaugeKind>kind, slot), change);
      }
    }
    this.dueCount = 0;
  }

  /** Shows for how long a context had been idle that the endpoint was found to have evicted, in seconds. */
  abstract showEvicted(slot: i32, idleSeconds: u64): void;

  /** Never negative: what wrapped counts as 0. */
  get(kind: GaugeKind, slot: i32): i64 {
    return clamped(this.current(kind, slot));
  }

  /**
   * Reads all gauges of a slot for `seen`, unless that was done less than `maxAgeMs` ago: 0.08 us each (measured),
   * which over 64 endpoints is as much as all else that a request costs.
   */
  look(slot: i32, maxAgeMs: u64, nowMs: u64): void {
    const readMs = unchecked(this.readMs[slot]);
    if (readMs != 0 && nowMs >= readMs && nowMs - readMs < maxAgeMs) return;
    this.readMs[slot] = nowMs;
    for (let kind = 0; kind < GAUGE_KINDS; kind++) {
      this.values[slot * GAUGE_KINDS + kind] = this.current(<GaugeKind>kind, slot);
    }
  }

  /** The value that the last `look` found, with what this VM has counted since. */
  seen(kind: GaugeKind, slot: i32): i64 {
    return clamped(unchecked(this.values[slot * GAUGE_KINDS + <i32>kind]));
  }

  private current(kind: GaugeKind, slot: i32): u64 {
    const due = <u64>this.due[slot * GAUGE_KINDS + <i32>kind];
    return this.valueOf(this.idOf(kind, slot)) + due;
  }

  /** Creates or finds the gauge; called once per gauge and VM. */
  protected abstract define(kind: GaugeKind, slot: i32): u32;
  protected abstract addTo(id: u32, change: i64): void;
  protected abstract valueOf(id: u32): u64;

  private idOf(kind: GaugeKind, slot: i32): u32 {
    const index = slot * GAUGE_KINDS + <i32>kind;
    const known = unchecked(this.ids[index]);
    if (known != UNDEFINED) return known;
    const id = this.define(kind, slot);
    unchecked((this.ids[index] = id));
    return id;
  }
}

function clamped(value: u64): i64 {
  return value > WRAPPED ? 0 : <i64>value;
}
