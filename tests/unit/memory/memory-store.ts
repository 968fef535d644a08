// SPDX-License-Identifier: Apache-2.0
// A shared store and gauges within one VM, with the faults that specs ask for.
import {
  ABSENT,
  GAUGE_KINDS,
  GaugeKind,
  Gauges,
  SharedStore,
  Write,
} from "../../../assembly/memory/shared-store";

/** The values behind any number of stores: what the workers of one Envoy share. */
export class SharedValues {
  values: Map<string, StaticArray<u8>> = new Map();
  versions: Map<string, u32> = new Map();
  nextVersion: u32 = 1;

  get bytes(): u64 {
    let sum: u64 = 0;
    const all = this.values.values();
    for (let i = 0; i < all.length; i++) sum += <u64>all[i].length;
    return sum;
  }

  /** Overwrites every value with bytes that no version of the filter wrote. */
  fillWithGarbage(size: i32): void {
    const keys = this.values.keys();
    for (let i = 0; i < keys.length; i++) {
      const garbage = new StaticArray<u8>(size);
      for (let k = 0; k < size; k++) garbage[k] = <u8>(k * 131 + i * 17 + 7);
      this.values.set(keys[i], garbage);
      this.versions.set(keys[i], this.nextVersion++);
    }
  }

  /** Overwrites one byte of every value. */
  damage(at: i32, byte: u8): void {
    const all = this.values.values();
    for (let i = 0; i < all.length; i++) {
      if (at < all[i].length) all[i][at] = byte;
    }
  }
}

/** The view of one worker. */
export class MemoryStore extends SharedStore {
  reads: i32 = 0;
  writes: i32 = 0;
  /** That many writes from now on find that another worker was faster. */
  conflicts: i32 = 0;
  failing: bool = false;
  private buffer: StaticArray<u8> = new StaticArray<u8>(0);

  constructor(public shared: SharedValues) {
    super();
  }

  read(key: usize, keySize: i32): bool {
    this.reads++;
    const name = String.UTF8.decodeUnsafe(key, keySize);
    // What an earlier read returned dies with the next one.
    memory.fill(changetype<usize>(this.buffer), 0xdd, <usize>this.buffer.length);
    if (!this.shared.values.has(name)) {
      this.data = 0;
      this.size = 0;
      this.version = ABSENT;
      return false;
    }
    const value = this.shared.values.get(name);
    this.buffer = new StaticArray<u8>(value.length);
    memory.copy(changetype<usize>(this.buffer), changetype<usize>(value), <usize>value.length);
    this.data = changetype<usize>(this.buffer);
    this.size = value.length;
    this.version = this.shared.versions.get(name);
    return true;
  }

  write(key: usize, keySize: i32, data: usize, size: i32, version: u32): Write {
    this.writes++;
    if (this.failing) return Write.Failed;
    if (this.conflicts > 0) {
      this.conflicts--;
      return Write.Conflict;
    }
    const name = String.UTF8.decodeUnsafe(key, keySize);
    const shared = this.shared;
    const taken = shared.versions.has(name) && shared.versions.get(name) != version;
    if (taken) return Write.Conflict;
    const value = new StaticArray<u8>(size);
    memory.copy(changetype<usize>(value), data, <usize>size);
    shared.values.set(name, value);
    shared.versions.set(name, shared.nextVersion++);
    return Write.Written;
  }

  resetCounts(): void {
    this.reads = 0;
    this.writes = 0;
  }
}

/** The numbers behind the gauges of all workers. */
export class SharedGauges {
  values: StaticArray<u64>;

  constructor(slots: i32) {
    this.values = new StaticArray<u64>(slots * GAUGE_KINDS);
  }
}

export class MemoryGauges extends Gauges {
  definitions: i32 = 0;
  /** As last shown, whichever the slot. */
  evictedSeconds: u64 = 0;

  constructor(
    public shared: SharedGauges,
    slots: i32,
  ) {
    super(slots);
  }

  showEvicted(_slot: i32, idleSeconds: u64): void {
    this.evictedSeconds = idleSeconds;
  }

  protected define(kind: GaugeKind, slot: i32): u32 {
    this.definitions++;
    return <u32>(slot * GAUGE_KINDS + <i32>kind);
  }

  protected addTo(id: u32, change: i64): void {
    this.shared.values[id] += <u64>change;
  }

  protected valueOf(id: u32): u64 {
    return this.shared.values[id];
  }
}
