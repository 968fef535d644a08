// SPDX-License-Identifier: Apache-2.0
// Which worker counts for how much in a fleet's gauges, so that what a trapped one leaves behind is taken back.
//
// A trap cuts the streams of its VM without a callback, and their counts would stay in the gauges for ever. Decay
// would also wear away long generations, and setting gauges anew races with the others' counting. So each VM writes
// its own share beside every change (a blind write of its own value, 0.2 us) and holds a seat with a heartbeat. A seat
// without a beat for LEASE_MS is swept: exactly what its VM had counted is subtracted. A VM that was only asleep
// notices before it counts again, takes a new seat and adds its share back. Sums are right whatever the order.
import { PackedValue } from "./packed-value";
import { ageMs, isDue } from "./roster";
import { GAUGE_KINDS, GaugeKind, Gauges, SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";

/** Workers, and those of the configuration before that still drain. */
const MAX_SEATS: i32 = 256;
const SEATS_FORMAT: u16 = 0x0104;
const SHARES_FORMAT: u16 = 0x0105;
const NO_SEAT: i32 = -1;

const SLOTS_PER_SHARE: i32 = 64;
const SHARE_BITS: i32 = 4;
const SHARES: i32 = 1 << SHARE_BITS;
const SHARE_ROW_BYTES: i32 = GAUGE_KINDS * 8;

const BEAT_MS: u64 = 1_000;
/** A worker that is silent for this long is taken for dead. */
const LEASE_MS: u64 = 3_000;

/** Owner of a seat whose share is being subtracted. */
const SWEEPING: u64 = u64.MAX_VALUE;


@unmanaged
class Seat {
  /** Random number of the VM; 0 = free. */
  vm: u64;
  beatMs: u64;
}

export class GaugeShares {
  private seats: PackedValue;
  private other: PackedValue;
  private own: StaticArray<PackedValue | null> = new StaticArray<PackedValue | null>(SHARES);
  private seat: i32 = NO_SEAT;
  private beatMs: u64 = 0;

  /** `vm` is a random number of this VM, neither 0 nor all ones. */
  constructor(
    private store: SharedStore,
    private name: string,
    private gauges: Gauges,
    private vm: u64,
  ) {
    this.seats = new PackedValue(
      store,
      name + ".v",
      SEATS_FORMAT,
      <i32>offsetof<Seat>(),
      MAX_SEATS,
    );
    this.other = new PackedValue(
      store,
      name + ".s",
      SHARES_FORMAT,
      SHARE_ROW_BYTES,
      SLOTS_PER_SHARE,
    );
  }

  /** Adds to the gauges of a slot and to this VM's share of them. */
  add(slot: i32, requests: i64, pendingTokens: i64, contextTokens: i64, nowMs: u64): void {
    if (this.seat == NO_SEAT || isDue(this.beatMs, LEASE_MS / 2, nowMs)) this.beat(nowMs, true);
    this.addToGauges(slot, requests, pendingTokens, contextTokens);
    const share = this.shareOf(slot);
    const row = share.row(slot % SLOTS_PER_SHARE);
    store<i64>(row, load<i64>(row) + requests);
    store<i64>(row + 8, load<i64>(row + 8) + pendingTokens);
    store<i64>(row + 16, load<i64>(row + 16) + contextTokens);
    if (this.seat != NO_SEAT) share.commit();
  }

  /** Keeps this VM's seat, if it has one, and sweeps those of dead ones. */
  tick(nowMs: u64): void {
    if (isDue(this.beatMs, BEAT_MS, nowMs)) this.beat(nowMs, this.seat != NO_SEAT);
  }

  private beat(nowMs: u64, wantsSeat: bool): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.seats.edit(0);
      const dead = this.markDead(nowMs);
      if (!wantsSeat && dead == NO_SEAT) break;
      const kept =
        this.seat != NO_SEAT && this.seat < this.seats.count && this.owner(this.seat) == this.vm;
      const seat = kept ? this.seat : this.freeSeat(wantsSeat);
      if (wantsSeat && seat != NO_SEAT) this.take(seat, nowMs);
      const outcome = this.seats.commit();
      if (outcome == Write.Conflict) continue;
      if (outcome == Write.Failed) return;
      if (wantsSeat && !kept) this.moveTo(seat);
      this.beatMs = nowMs;
      if (dead != NO_SEAT) this.sweep(dead);
      return;
    }
    this.beatMs = nowMs;
  }

  /** Marks one dead seat; the next beat finds the next. */
  private markDead(nowMs: u64): i32 {
    for (let i = 0; i < this.seats.count; i++) {
      const seat = changetype<Seat>(this.seats.row(i));
      if (seat.vm == 0 || seat.vm == this.vm || ageMs(seat.beatMs, nowMs) <= LEASE_MS) continue;
      seat.vm = SWEEPING;
      seat.beatMs = nowMs;
      return i;
    }
    return NO_SEAT;
  }

  private freeSeat(wanted: bool): i32 {
    if (!wanted) return NO_SEAT;
    for (let i = 0; i < this.seats.count; i++) {
      if (this.owner(i) == 0) return i;
    }
    if (this.seats.count >= MAX_SEATS) return NO_SEAT;
    this.seats.extend(this.seats.count + 1);
    return this.seats.count - 1;
  }

  private take(index: i32, nowMs: u64): void {
    const seat = changetype<Seat>(this.seats.row(index));
    seat.vm = this.vm;
    seat.beatMs = nowMs;
  }

  private owner(index: i32): u64 {
    return changetype<Seat>(this.seats.row(index)).vm;
  }

  /** Sits down on a new seat. Had this VM another one before, its share was subtracted meanwhile. */
  private moveTo(seat: i32): void {
    const lost = this.seat != NO_SEAT;
    this.seat = seat;
    for (let group = 0; group < SHARES; group++) {
      const share = this.own[group];
      if (share == null) {
        this.clear(seat, group);
        continue;
      }
      if (lost) this.addShare(share, group, 1);
      if (seat == NO_SEAT) continue;
      share.holdAt(<u32>((seat << SHARE_BITS) | group));
      share.commit();
    }
  }

  /** Takes back all that the dead owner of a seat had counted, then frees the seat. */
  private sweep(seat: i32): void {
    for (let group = 0; group < SHARES; group++) this.clear(seat, group, true);
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.seats.edit(0);
      if (seat >= this.seats.count || this.owner(seat) != SWEEPING) return;
      changetype<Seat>(this.seats.row(seat)).vm = 0;
      if (this.seats.commit() != Write.Conflict) return;
    }
  }

  /** Empties a share; who wins the write subtracts it, so it is subtracted once. */
  private clear(seat: i32, group: i32, subtract: bool = false): void {
    if (seat == NO_SEAT) return;
    const other = this.other;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      other.edit(<u32>((seat << SHARE_BITS) | group));
      const rows = other.count;
      if (rows == 0) return;
      other.count = 0;
      if (other.commit() == Write.Conflict) continue;
      other.count = rows;
      if (subtract) this.addShare(other, group, -1);
      return;
    }
  }

  private addShare(share: PackedValue, group: i32, sign: i64): void {
    for (let i = 0; i < share.count; i++) {
      const row = share.row(i);
      this.addToGauges(
        group * SLOTS_PER_SHARE + i,
        sign * load<i64>(row),
        sign * load<i64>(row + 8),
        sign * load<i64>(row + 16),
      );
    }
  }

  private addToGauges(slot: i32, requests: i64, pendingTokens: i64, contextTokens: i64): void {
    this.gauges.add(GaugeKind.InFlight, slot, requests);
    this.gauges.add(GaugeKind.PendingPrefill, slot, pendingTokens);
    this.gauges.add(GaugeKind.Context, slot, contextTokens);
  }

  /** This VM's share of the slots around one; allocated once. */
  private shareOf(slot: i32): PackedValue {
    const group = slot / SLOTS_PER_SHARE;
    let share = this.own[group];
    if (share == null) {
      share = new PackedValue(
        this.store,
        this.name + ".s",
        SHARES_FORMAT,
        SHARE_ROW_BYTES,
        SLOTS_PER_SHARE,
      );
      share.hold(<u32>((max(0, this.seat) << SHARE_BITS) | group));
      this.own[group] = share;
    }
    share.extend((slot % SLOTS_PER_SHARE) + 1);
    return share;
  }
}
