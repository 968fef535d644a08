// SPDX-License-Identifier: Apache-2.0
// Where a session told by its key continues when its chain does not know: compacted, a new window, or a twin.
import { Request } from "../request/request";
import { BucketSizes, BucketTable } from "./bucket-table";
import { Fleet } from "./fleet";
import { NO_SLOT } from "./roster";
import { SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";
import { tagOf } from "./tags";

const FORMAT: u16 = 0x0202;
const LIVE_ROWS: i32 = 36;
const PROBATION_ROWS: i32 = 12;
/** Mean live rows of a bucket at the configured number of sessions. */
const MEAN_ROWS: i32 = 24;
/** After this long without a call a small request may be the session's new beginning. */
const IDLE_MS: u64 = 600_000;


@unmanaged
class SessionRow {
  session: u64;
  /** Tag of the head that its last request had. */
  head: u32;
  slot: u16;
  generation: u16;
  /** Prompt tokens of its main line. */
  tokens: u32;
  /** Seconds since the epoch. */
  servedS: u32;
}

const ROW_BYTES: i32 = <i32>offsetof<SessionRow>();
const SIZES = new BucketSizes(ROW_BYTES, LIVE_ROWS, PROBATION_ROWS, MEAN_ROWS);

/** The answer of a look-up is in the fields, until the next one. */
export class SessionTable {
  slot: i32 = NO_SLOT;
  servedMs: u64 = 0;
  headDiffers: bool = false;
  private table: BucketTable;

  constructor(store: SharedStore, sessions: i32) {
    this.table = new BucketTable(store, "i.", FORMAT, SIZES, sessions);
  }

  /** Most bytes that the table for that many sessions can take. */
  static capacityBytes(sessions: i32): u64 {
    return SIZES.capacityBytes(sessions);
  }

  /** False where the session has no key, is not known, or its endpoint left. */
  find(request: Request, fleet: Fleet, nowMs: u64): bool {
    this.slot = NO_SLOT;
    if (request.session == 0) return false;
    this.table.openFor(request.session);
    const index = this.locate(request.session);
    if (index < 0) return false;
    const row = this.rowAt(index);
    this.servedMs = <u64>row.servedS * 1_000;
    this.headDiffers = row.head != tagOf(request.head);
    this.slot = fleet.resolve(<i32>row.slot, row.generation, nowMs);
    return this.slot != NO_SLOT;
  }

  /**
   * Notes who served a request of the session. A side request (a title, a probe: much shorter than the session
   * and served elsewhere) does not move it.
   *
   * @param continues the request is known to continue something that was served before
   */
  learn(request: Request, fleet: Fleet, slot: i32, continues: bool, nowMs: u64): void {
    if (request.session == 0) return;
    const generation = fleet.generationOf(slot);
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(request.session);
      let index = this.locate(request.session);
      if (index >= 0 && isSideRequest(this.rowAt(index), request, slot, generation, nowMs)) return;
      if (index >= 0 && !this.table.isLive(index)) index = this.table.promote(index);
      const row = index >= 0 ? this.rowAt(index) : this.insert(request.session);
      row.head = tagOf(request.head);
      row.slot = <u16>slot;
      row.generation = generation;
      row.tokens = continues ? request.promptTokens : max(row.tokens, request.promptTokens);
      row.servedS = <u32>(nowMs / 1_000);
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  /** The client said that the session is over. */
  free(session: u64): void {
    if (session == 0) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(session);
      const index = this.locate(session);
      if (index < 0) return;
      this.table.remove(index);
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  private insert(session: u64): SessionRow {
    const row = changetype<SessionRow>(this.table.insert(false));
    row.session = session;
    return row;
  }

  private locate(session: u64): i32 {
    for (let i = this.table.count - 1; i >= 0; i--) {
      if (this.rowAt(i).session == session) return i;
    }
    return -1;
  }

  private rowAt(index: i32): SessionRow {
    return changetype<SessionRow>(this.table.row(index));
  }
}

function isSideRequest(
  row: SessionRow,
  request: Request,
  slot: i32,
  generation: u16,
  nowMs: u64,
): bool {
  const here = <i32>row.slot == slot && row.generation == generation;
  const idle = nowMs > <u64>row.servedS * 1_000 + IDLE_MS;
  return !here && !idle && <u64>request.promptTokens * 2 < <u64>row.tokens;
}
