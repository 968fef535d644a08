// SPDX-License-Identifier: Apache-2.0
// What one VM counts for in the gauges of a fleet, and the shared values in which it is written down seat by seat.
import { PackedValue } from "./packed-value";
import { GAUGE_KINDS, GaugeKind, Gauges, SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";

/** Slots of one shared value. */
const SLOTS_PER_SHARE: i32 = 64;
const SHARE_BITS: i32 = 4;
/** Values of one seat. */
export const SHARES: i32 = 1 << SHARE_BITS;

const FORMAT: u16 = 0x0107;
const ROW_BYTES: i32 = GAUGE_KINDS * 8;
const NUMBERS: i32 = SLOTS_PER_SHARE * GAUGE_KINDS;

/** The first row of a value. */
@unmanaged
class Head {
  /** The VM that wrote the rows behind it; 0 = they were subtracted, or taken elsewhere. */
  vm: u64;
  /** Not 0: what lay here before was destroyed by a foreign writer, so that nobody could subtract it. */
  isUnpaid: u32;
  reserved: u32;
  reserved1: u64;
}

/** The slots of one value, as this VM counts for them. */
class OwnShare {
  /** What the gauges hold of this VM, up to `count` slots. */
  numbers: StaticArray<i64> = new StaticArray<i64>(NUMBERS);
  count: i32 = 0;
  /** What is written down: who replaces it subtracts as much. */
  written: StaticArray<i64> = new StaticArray<i64>(NUMBERS);
  writtenCount: i32 = 0;
  /** The numbers changed since they were written. */
  isChanged: bool = false;
}

export class ShareTable {
  private value: PackedValue;
  private own: StaticArray<OwnShare | null> = new StaticArray<OwnShare | null>(SHARES);

  constructor(
    store: SharedStore,
    name: string,
    private gauges: Gauges,
    private vm: u64,
  ) {
    this.value = new PackedValue(store, name, FORMAT, ROW_BYTES, SLOTS_PER_SHARE + 1);
  }

  /** Takes over what is about to be given to the gauges. */
  noteDue(): void {
    const gauges = this.gauges;
    for (let i = 0; i < gauges.dueCount; i++) {
      const slot = gauges.dueSlot(i);
      const share = this.shareOf(slot / SLOTS_PER_SHARE);
      const at = slot % SLOTS_PER_SHARE;
      for (let kind = 0; kind < GAUGE_KINDS; kind++) {
        share.numbers[at * GAUGE_KINDS + kind] += gauges.dueOf(<GaugeKind>kind, slot);
      }
      share.count = max(share.count, at + 1);
      share.isChanged = true;
    }
  }

  /** Writes down what changed. False where another VM has taken the seat. */
  write(seat: i32): bool {
    for (let group = 0; group < SHARES; group++) {
      const share = this.own[group];
      if (share != null && share.isChanged && !this.save(share, seat, group)) return false;
    }
    return true;
  }

  /** Has everything written down again with the next `write`: a foreign writer may have destroyed it. */
  recheck(): void {
    for (let group = 0; group < SHARES; group++) {
      const share = this.own[group];
      if (share != null) share.isChanged = true;
    }
  }

  /** Writes down everything, on a seat that this VM has just taken. */
  writeAll(seat: i32): void {
    for (let group = 0; group < SHARES; group++) {
      const share = this.own[group];
      if (share != null) this.save(share, seat, group);
    }
  }

  /** Takes this VM's shares away from a seat that it lost. */
  leave(seat: i32): void {
    for (let group = 0; group < SHARES; group++) {
      const share = this.own[group];
      if (share != null && share.writtenCount > 0) this.takeAway(share, seat, group);
    }
  }

  /** Empties a share; who wins the write subtracts it, so it is subtracted once. */
  clear(seat: i32, group: i32): void {
    const value = this.value;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      value.edit(indexOf(seat, group));
      if (this.owner() == 0 && !value.isForeign) return;
      const rows = max(1, value.count);
      this.empty(value.isForeign);
      const outcome = value.commit();
      if (outcome == Write.Conflict) continue;
      if (outcome == Write.Written) this.addToGauges(group, value.row(1), rows - 1, -1);
      return;
    }
  }

  private save(share: OwnShare, seat: i32, group: i32): bool {
    const value = this.value;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      value.edit(indexOf(seat, group));
      const owner = this.owner();
      if (owner != 0 && owner != this.vm) return false;
      if (owner == 0 && value.isOurs) this.restore(share, group);
      this.fill(share);
      const outcome = value.commit();
      if (outcome == Write.Conflict) continue;
      if (outcome == Write.Written) note(share);
      return true;
    }
    return true;
  }

  private takeAway(share: OwnShare, seat: i32, group: i32): void {
    const value = this.value;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      value.edit(indexOf(seat, group));
      if (!value.isOurs) break; // Destroyed by a foreign writer: nobody could subtract it.
      if (this.owner() != this.vm) {
        this.restore(share, group);
        return;
      }
      this.empty(false);
      if (value.commit() != Write.Conflict) break;
    }
    share.writtenCount = 0;
  }

  /** Somebody replaced what was written down, and subtracted it if it was still there. */
  private restore(share: OwnShare, group: i32): void {
    const count = share.writtenCount;
    share.writtenCount = 0;
    if (this.value.count > 0 && this.head().isUnpaid != 0) return;
    this.addToGauges(group, changetype<usize>(share.written), count, 1);
  }

  /** VM whose rows the open value holds; 0 = nobody's. */
  private owner(): u64 {
    return this.value.count > 0 ? this.head().vm : 0;
  }

  private head(): Head {
    return changetype<Head>(this.value.row(0));
  }

  private empty(isUnpaid: bool): void {
    this.value.extend(1);
    this.value.count = 1;
    this.head().vm = 0;
    this.head().isUnpaid = isUnpaid ? 1 : 0;
  }

  private fill(share: OwnShare): void {
    const value = this.value;
    const isUnpaid = value.count > 0 ? this.head().isUnpaid : 0;
    value.count = 0;
    value.extend(share.count + 1);
    this.head().vm = this.vm;
    this.head().isUnpaid = isUnpaid;
    const bytes = <usize>(share.count * ROW_BYTES);
    memory.copy(value.row(1), changetype<usize>(share.numbers), bytes);
  }

  private addToGauges(group: i32, rows: usize, count: i32, sign: i64): void {
    for (let i = 0; i < count; i++) {
      for (let kind = 0; kind < GAUGE_KINDS; kind++) {
        const number = load<i64>(rows + <usize>((i * GAUGE_KINDS + kind) * 8));
        this.gauges.add(<GaugeKind>kind, group * SLOTS_PER_SHARE + i, sign * number);
      }
    }
  }

  private shareOf(group: i32): OwnShare {
    let share = this.own[group];
    if (share == null) {
      share = new OwnShare();
      this.own[group] = share;
    }
    return share;
  }
}

function note(share: OwnShare): void {
  const bytes = <usize>(share.count * ROW_BYTES);
  memory.copy(changetype<usize>(share.written), changetype<usize>(share.numbers), bytes);
  share.writtenCount = share.count;
  share.isChanged = false;
}

function indexOf(seat: i32, group: i32): u32 {
  return <u32>((seat << SHARE_BITS) | group);
}
