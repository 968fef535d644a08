// SPDX-License-Identifier: Apache-2.0
// Which worker counts for how much in a fleet's gauges, so that what a trapped one leaves behind is taken back.
//
// A trap cuts the streams of its VM without a callback, and their counts would stay in the gauges for ever. Decay
// would also wear away long generations, and setting gauges anew races with the others' counting. So each VM keeps
// what it counts for in shares of its own, written whenever it gives to the gauges, and holds a seat with a heartbeat.
// A seat without a beat for LEASE_MS is swept: exactly what its VM had counted is subtracted. One rule makes sums right
// whatever the order, and whatever a foreign writer destroys: who replaces another VM's share subtracts it, and who
// finds its own share replaced adds it again.
import { ageMs, isDue } from "./roster";
import { SHARES, ShareTable } from "./share-table";
import { PackedValue } from "./packed-value";
import { GaugeKind, Gauges, SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";

/** Workers, and those of the configuration before that still drain. */
const MAX_SEATS: i32 = 256;
const SEATS_FORMAT: u16 = 0x0104;
const NO_SEAT: i32 = -1;

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
  private shares: ShareTable;
  private seat: i32 = NO_SEAT;
  private beatMs: u64 = 0;
  /** A seat's beat that lay in the future has been dated anew. */
  private isDated: bool = false;
  /** Most seats that this VM has seen taken. */
  private mostSeats: i32 = 0;

  /** `vm` is a random number of this VM, neither 0 nor all ones. */
  constructor(
    store: SharedStore,
    name: string,
    private gauges: Gauges,
    private vm: u64,
  ) {
    const seatBytes = <i32>offsetof<Seat>();
    this.seats = new PackedValue(store, name + ".v", SEATS_FORMAT, seatBytes, MAX_SEATS);
    this.shares = new ShareTable(store, name + ".s", gauges, vm);
  }

  /** Counts at the gauges of a slot: this VM sees it at once, the others after the next `give`. */
  add(slot: i32, requests: i64, pendingTokens: i64, contextTokens: i64): void {
    const gauges = this.gauges;
    gauges.count(GaugeKind.InFlight, slot, requests);
    gauges.count(GaugeKind.PendingPrefill, slot, pendingTokens);
    gauges.count(GaugeKind.Context, slot, contextTokens);
  }

  /** Adds what this VM has counted to the gauges of all, and writes it down in its share. */
  give(nowMs: u64): void {
    if (this.gauges.dueCount == 0) return;
    if (this.seat == NO_SEAT || isDue(this.beatMs, LEASE_MS / 2, nowMs)) this.beat(nowMs, true);
    this.shares.noteDue();
    this.gauges.give();
    if (this.seat == NO_SEAT || this.shares.write(this.seat)) return;
    this.beat(nowMs, true); // Somebody else sits here.
    if (this.seat != NO_SEAT) this.shares.write(this.seat);
  }

  /** Gives, keeps this VM's seat if it has one, and sweeps those of dead VMs. */
  tick(nowMs: u64): void {
    this.give(nowMs);
    if (!isDue(this.beatMs, BEAT_MS, nowMs)) return;
    this.beat(nowMs, this.seat != NO_SEAT);
    if (this.seat == NO_SEAT) return;
    this.shares.recheck();
    this.shares.write(this.seat);
  }

  private beat(nowMs: u64, wantsSeat: bool): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.seats.edit(0);
      const isLost = this.seats.isForeign;
      this.mostSeats = max(this.mostSeats, this.seats.count);
      const dead = this.markDead(nowMs);
      if (!wantsSeat && dead == NO_SEAT && !this.isDated) break;
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
      if (isLost) this.sweepAll();
      return;
    }
    this.beatMs = nowMs;
  }

  /** Marks one dead seat; the next beat finds the next. */
  private markDead(nowMs: u64): i32 {
    this.isDated = false;
    for (let i = 0; i < this.seats.count; i++) {
      const seat = changetype<Seat>(this.seats.row(i));
      if (ageMs(nowMs, seat.beatMs) > LEASE_MS) {
        // The clock was set back: whoever lives beats again within a lease from now on.
        seat.beatMs = nowMs;
        this.isDated = true;
      }
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

  /** Sits down on a new seat, with all that this VM counts for. */
  private moveTo(seat: i32): void {
    const former = this.seat;
    this.seat = seat;
    if (former != NO_SEAT) this.shares.leave(former);
    if (seat == NO_SEAT) return;
    this.clear(seat);
    this.shares.writeAll(seat);
  }

  /** Takes back all that the dead owner of a seat had counted, then frees the seat. */
  private sweep(seat: i32): void {
    this.clear(seat);
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.seats.edit(0);
      if (seat >= this.seats.count || this.owner(seat) != SWEEPING) return;
      changetype<Seat>(this.seats.row(seat)).vm = 0;
      if (this.seats.commit() != Write.Conflict) return;
    }
  }

  /**
   * The list of seats was destroyed: what lies on any of them is subtracted. Living VMs find that out and add theirs
   * again; of a dead one nobody would know.
   */
  private sweepAll(): void {
    for (let seat = 0; seat < this.mostSeats; seat++) {
      if (seat != this.seat) this.clear(seat);
    }
  }

  private clear(seat: i32): void {
    for (let group = 0; group < SHARES; group++) this.shares.clear(seat, group);
  }
}
