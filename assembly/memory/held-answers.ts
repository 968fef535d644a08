// SPDX-License-Identifier: Apache-2.0
// Which endpoint stores an answer that clients refer to by its id (`previous_response_id`).
import { BucketSizes, BucketTable } from "./bucket-table";
import { Fleet } from "./fleet";
import { NO_SLOT } from "./roster";
import { SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";

const FORMAT: u16 = 0x0203;
const LIVE_ROWS: i32 = 48;
const PROBATION_ROWS: i32 = 24;
const MEAN_ROWS: i32 = 24;


@unmanaged
class HeldRow {
  /** Hash of the answer's id and of the tenant. */
  id: u64;
  slot: u16;
  generation: u16;
  /** Turn of the request that was answered; 0 = not known. */
  turn: u32;
}

const ROW_BYTES: i32 = <i32>offsetof<HeldRow>();
const SIZES = new BucketSizes(ROW_BYTES, LIVE_ROWS, PROBATION_ROWS, MEAN_ROWS);

export class HeldAnswers {
  /** Turn of the request whose answer `find` found; 0 = not known. */
  turn: i32 = 0;
  private table: BucketTable;

  constructor(store: SharedStore, sessions: i32) {
    this.table = new BucketTable(store, "h.", FORMAT, SIZES, sessions);
  }

  /** Most bytes that the table for that many sessions can take. */
  static capacityBytes(sessions: i32): u64 {
    return SIZES.capacityBytes(sessions);
  }

  /** Slot of the endpoint that stores the answer; NO_SLOT where it is not known or that endpoint left. */
  find(id: u64, fleet: Fleet, nowMs: u64): i32 {
    this.turn = 0;
    if (id == 0) return NO_SLOT;
    this.table.openFor(id);
    const index = this.locate(id);
    if (index < 0) return NO_SLOT;
    const row = this.rowAt(index);
    this.turn = <i32>row.turn;
    return fleet.resolve(<i32>row.slot, row.generation, nowMs);
  }

  /**
   * Notes the id of a new answer.
   * @param previous id that its request referred to, 0 = none. A chain of answers is live, a single one is not
   * @param turn of its request
   */
  learn(id: u64, previous: u64, fleet: Fleet, slot: i32, turn: i32): void {
    const generation = fleet.generationOf(slot);
    if (id == 0 || generation == 0) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(id);
      const index = this.locate(id);
      const row =
        index >= 0 ? this.rowAt(index) : changetype<HeldRow>(this.table.insert(previous != 0));
      row.id = id;
      row.slot = <u16>slot;
      row.generation = generation;
      row.turn = <u32>turn;
      if (this.table.commit() != Write.Conflict) break;
    }
    if (previous != 0) this.promote(previous);
  }

  /** Something continues from the answer, so it may be continued from again. */
  private promote(id: u64): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(id);
      const index = this.locate(id);
      if (index < 0 || this.table.isLive(index)) return;
      this.table.promote(index);
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  private locate(id: u64): i32 {
    for (let i = this.table.count - 1; i >= 0; i--) {
      if (this.rowAt(i).id == id) return i;
    }
    return -1;
  }

  private rowAt(index: i32): HeldRow {
    return changetype<HeldRow>(this.table.row(index));
  }
}
