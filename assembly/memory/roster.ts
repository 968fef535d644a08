// SPDX-License-Identifier: Apache-2.0
// Which endpoint has which slot of a fleet: a shared value, with a copy in each VM.
import { Gauges, GaugeKind, SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";
import { hashName, hashText } from "../hash/text";
import { PackedValue } from "./packed-value";

/** Most endpoints of one cluster. */
export const MAX_SLOTS: i32 = 1024;
export const NO_SLOT: i32 = -1;

const FORMAT: u16 = 0x0101;
const ADDRESS_BYTES: i32 = 60;
/** The copy of a VM is this old at most; whatever it cannot resolve makes it read again at once. */
const REFRESH_MS: u64 = 1_000;
/** But not more often than this: references to endpoints that left stay unresolved for good. */
const LEAST_REFRESH_MS: u64 = 50;

/** Bytes that hashing may read behind an address. */
const HASH_SLACK: i32 = 64;


@unmanaged
class RosterRow {
  /** Counts the endpoints that had this slot, never 0. */
  generation: u16;
  /** Length of the address of the endpoint that has the slot, or had it last. */
  addressSize: u8;
  /** 0 = free: the endpoint left. */
  used: u8;
}

const ROW_BYTES: i32 = <i32>offsetof<RosterRow>() + ADDRESS_BYTES;

export class Roster {
  /** Slots ever used: every slot in use is below. */
  end: i32 = 0;
  /** Slots in use. */
  known: i32 = 0;
  private value: PackedValue;
  private copy: StaticArray<u8> = new StaticArray<u8>(HASH_SLACK);
  private hashes: StaticArray<u64> = new StaticArray<u64>(0);
  private readMs: u64 = 0;
  private lastSlot: i32 = 0;
  /** Generations begin here: memory of another fleet's slot of the same number is of no endpoint of this one. */
  private readonly firstGeneration: u16;

  constructor(
    store: SharedStore,
    name: string,
    private gauges: Gauges,
  ) {
    this.firstGeneration = <u16>hashName(name);
    this.value = new PackedValue(store, name + ".r", FORMAT, ROW_BYTES, MAX_SLOTS);
  }

  /** Reads the shared value again if the copy is old. */
  refresh(nowMs: u64): void {
    if (isDue(this.readMs, REFRESH_MS, nowMs)) this.reload(nowMs);
  }

  isUsed(slot: i32): bool {
    return slot >= 0 && slot < this.end && this.row(slot).used != 0;
  }

  generationOf(slot: i32): u16 {
    return this.isUsed(slot) ? this.row(slot).generation : 0;
  }

  /** Hash of the address: the same in every gateway. */
  hashOf(slot: i32): u64 {
    return this.isUsed(slot) ? unchecked(this.hashes[slot]) : 0;
  }

  /** Address as Envoy writes it (`ip:port`); 0 bytes where the slot is free. Valid until the next refresh. */
  addressOf(slot: i32): usize {
    return changetype<usize>(this.row(slot)) + offsetof<RosterRow>();
  }

  addressSizeOf(slot: i32): i32 {
    return this.isUsed(slot) ? <i32>this.row(slot).addressSize : 0;
  }

  /** Slot of a reference, or NO_SLOT where that endpoint left or its slot has another one by now. */
  resolve(slot: i32, generation: u16, nowMs: u64): i32 {
    if (generation == 0 || slot >= MAX_SLOTS) return NO_SLOT;
    if (this.holds(slot, generation)) return slot;
    if (!this.isAhead(slot, generation) && !isDue(this.readMs, LEAST_REFRESH_MS, nowMs)) {
      return NO_SLOT;
    }
    this.reload(nowMs);
    return this.holds(slot, generation) ? slot : NO_SLOT;
  }

  /** Another worker knows an endpoint that this copy has not seen: it is worth a read at any time. */
  private isAhead(slot: i32, generation: u16): bool {
    return slot >= this.end || generation > this.row(slot).generation;
  }

  find(address: usize, size: i32): i32 {
    if (this.matches(this.lastSlot, address, size)) return this.lastSlot;
    for (let slot = 0; slot < this.end; slot++) {
      if (!this.matches(slot, address, size)) continue;
      this.lastSlot = slot;
      return slot;
    }
    return NO_SLOT;
  }

  /** Slot of an endpoint that served; a new one where it has none. NO_SLOT where the fleet is full. */
  enroll(address: usize, size: i32, nowMs: u64): i32 {
    if (size <= 0 || size > ADDRESS_BYTES) return NO_SLOT;
    const known = this.find(address, size);
    if (known != NO_SLOT) return known;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.value.edit(0);
      this.takeCopy(nowMs);
      const taken = this.find(address, size);
      if (taken != NO_SLOT) return taken;
      const former = this.formerSlot(address, size);
      const slot = former != NO_SLOT ? former : this.freeSlot();
      if (slot == NO_SLOT) return NO_SLOT;
      this.value.extend(slot + 1);
      const row = changetype<RosterRow>(this.value.row(slot));
      row.used = 1;
      if (former == NO_SLOT) {
        if (row.generation == 0) row.generation = this.firstGeneration;
        row.generation = row.generation == u16.MAX_VALUE ? 1 : row.generation + 1;
        row.addressSize = <u8>size;
        memory.copy(changetype<usize>(row) + offsetof<RosterRow>(), address, <usize>size);
      }
      const outcome = this.value.commit();
      if (outcome == Write.Conflict) continue;
      if (outcome == Write.Failed) return NO_SLOT;
      this.takeCopy(nowMs);
      return slot;
    }
    return NO_SLOT;
  }

  /** Frees the slot of an endpoint that left. */
  leave(slot: i32, generation: u16, nowMs: u64): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.value.edit(0);
      if (slot < 0 || slot >= this.value.count) return;
      const row = changetype<RosterRow>(this.value.row(slot));
      if (row.generation != generation || row.used == 0) break;
      row.used = 0;
      if (this.value.commit() != Write.Conflict) break;
    }
    this.reload(nowMs);
  }

  private reload(nowMs: u64): void {
    this.value.open(0);
    this.takeCopy(nowMs);
  }

  /** Keeps the open value; allocates only when the fleet has grown. */
  private takeCopy(nowMs: u64): void {
    const count = this.value.count;
    const size = count * ROW_BYTES;
    if (this.copy.length < size + HASH_SLACK) {
      this.copy = new StaticArray<u8>(size + (size >> 1) + HASH_SLACK);
      this.hashes = new StaticArray<u64>(this.copy.length / ROW_BYTES);
    }
    memory.copy(changetype<usize>(this.copy), this.value.row(0), <usize>size);
    this.end = count;
    this.known = 0;
    for (let slot = 0; slot < count; slot++) {
      const row = this.row(slot);
      const size = <i32>row.addressSize;
      if (size == 0 || size > ADDRESS_BYTES || row.generation == 0) row.used = 0;
      if (row.used == 0) continue;
      this.known++;
      this.hashes[slot] = hashText(this.addressOf(slot), size);
    }
    this.readMs = nowMs;
  }

  /** Slot that the endpoint had before it left: what is known of it may still hold. */
  private formerSlot(address: usize, size: i32): i32 {
    for (let slot = 0; slot < this.end; slot++) {
      const row = this.row(slot);
      if (row.used != 0 || <i32>row.addressSize != size || row.generation == 0) continue;
      if (memory.compare(this.addressOf(slot), address, <usize>size) == 0) return slot;
    }
    return NO_SLOT;
  }

  /** The first free slot that no stream of an earlier endpoint still counts at, else the first free one. */
  private freeSlot(): i32 {
    let first = NO_SLOT;
    for (let slot = 0; slot < this.end; slot++) {
      if (this.isUsed(slot)) continue;
      if (this.gauges.get(GaugeKind.InFlight, slot) == 0) return slot;
      if (first == NO_SLOT) first = slot;
    }
    return this.end < MAX_SLOTS ? this.end : first;
  }

  private holds(slot: i32, generation: u16): bool {
    return this.isUsed(slot) && this.row(slot).generation == generation;
  }

  private matches(slot: i32, address: usize, size: i32): bool {
    return (
      this.addressSizeOf(slot) == size &&
      memory.compare(this.addressOf(slot), address, <usize>size) == 0
    );
  }

  private row(slot: i32): RosterRow {
    return changetype<RosterRow>(changetype<usize>(this.copy) + <usize>(slot * ROW_BYTES));
  }
}

/** Clocks of workers differ by little; what lies in the future is new. */
export function ageMs(thenMs: u64, nowMs: u64): u64 {
  return nowMs > thenMs ? nowMs - thenMs : 0;
}

/** What any VM did at `thenMs` lies a period back: or as far ahead, where the clock was set back since. */
export function isPast(thenMs: u64, periodMs: u64, nowMs: u64): bool {
  return ageMs(thenMs, nowMs) + ageMs(nowMs, thenMs) >= periodMs;
}

/** What this VM itself did at `thenMs` (0 = never) is due again, also after its clock was set back. */
export function isDue(thenMs: u64, periodMs: u64, nowMs: u64): bool {
  return thenMs == 0 || nowMs < thenMs || nowMs - thenMs >= periodMs;
}
