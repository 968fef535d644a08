// SPDX-License-Identifier: Apache-2.0
// Heads in pieces, so that a conversation whose head changed still knows how much in front of the change is common.
import { mix } from "../hash/mix";
import { MAX_HEAD_PIECES, Request } from "../request/request";
import { BucketSizes, BucketTable } from "./bucket-table";
import { Homes } from "./homes";
import { SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";
import { tagOf } from "./tags";

const FORMAT: u16 = 0x0206;
const ROWS: i32 = 4;
/** Most sessions share their head with others; one in sixteen may have one that changes from call to call. */
const SESSIONS_PER_HEAD: i32 = 16;
const FEWEST_BUCKETS: i32 = 16;

/** Heads that one VM knows to be stored: a steady one costs no look-up. */
const KNOWN_HEADS: i32 = 64;
/** After this long a steady head is stored anew if changing ones are pushing it out. */
const KNOWN_MS: u64 = 60_000;
/** One head; the tags of its pieces follow. */
@unmanaged
class HeadRow {
  head: u32;
  pieces: u32;

  /** Tag of the head up to a piece. */
  tag(index: i32): u32 {
    return load<u32>(this.tagAddress(index));
  }

  setTag(index: i32, tag: u32): void {
    store<u32>(this.tagAddress(index), tag);
  }

  private tagAddress(index: i32): usize {
    return changetype<usize>(this) + offsetof<HeadRow>() + ((<usize>index) << 2);
  }
}

const ROW_BYTES: i32 = <i32>offsetof<HeadRow>() + MAX_HEAD_PIECES * 4;
const SIZES = new BucketSizes(ROW_BYTES, ROWS, 0, ROWS, FEWEST_BUCKETS);

/** Hashes only, like all that is remembered: which head it was, and which pieces it began with. */
export class HeadTable {
  private table: BucketTable;
  private known: StaticArray<u32> = new StaticArray<u32>(KNOWN_HEADS);
  private knownMs: StaticArray<u64> = new StaticArray<u64>(KNOWN_HEADS);

  /** @param sessions live sessions to remember, see `capacityBytes` */
  constructor(store: SharedStore, sessions: i32) {
    this.table = new BucketTable(store, "heads.", FORMAT, SIZES, sessions / SESSIONS_PER_HEAD);
  }

  /** Most bytes that the table for that many sessions can take. */
  static capacityBytes(sessions: i32): u64 {
    return SIZES.capacityBytes(sessions / SESSIONS_PER_HEAD);
  }

  /**
   * Remembers the pieces of a request's head: one read, and one write unless it is the newest of its bucket.
   * @returns false where this VM did so lately and nothing was asked of the store
   */
  learn(request: Request, nowMs: u64): bool {
    if (request.headPieceCount == 0) return false;
    const head = tagOf(request.head);
    const place = <i32>(head % <u32>KNOWN_HEADS);
    if (this.known[place] == head && nowMs - this.knownMs[place] < KNOWN_MS) return false;
    this.known[place] = head;
    this.knownMs[place] = nowMs;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(mix(head));
      const index = this.locate(head);
      if (index >= 0 && index == this.table.count - 1) return true;
      if (index >= 0) this.table.promote(index);
      else fill(changetype<HeadRow>(this.table.insert(true)), head, request);
      if (this.table.commit() != Write.Conflict) return true;
    }
    return true;
  }

  /**
   * Of a conversation that is known under another head, tells what the two heads have in common: all pieces in
   * front of the first that differs, and nothing of the chain behind them.
   */
  tellCommon(request: Request, homes: Homes): void {
    const asks = !homes.doubted && request.headPieceCount > 0;
    const pieces = asks ? this.commonPieces(homes.matchedHead, request) : 0;
    if (pieces > 0) {
      // Of a body that is not read to its end, pieces may come from an item that is none of the head.
      homes.seenTokens = min(request.headPieceTokens[pieces - 1], request.headTokens);
      homes.seenBytes = min(request.headPieceBytes[pieces - 1], request.headBytes);
    }
    homes.capPrefix(homes.seenTokens);
  }

  private commonPieces(head: u32, request: Request): i32 {
    this.table.openFor(mix(head));
    const index = this.locate(head);
    if (index < 0) return 0;
    const row = this.rowAt(index);
    const most = min(min(<i32>row.pieces, MAX_HEAD_PIECES), request.headPieceCount);
    let common = 0;
    while (common < most && row.tag(common) == tagOf(request.headPieces[common])) common++;
    return common;
  }

  private locate(head: u32): i32 {
    for (let i = this.table.count - 1; i >= 0; i--) {
      if (this.rowAt(i).head == head) return i;
    }
    return -1;
  }

  private rowAt(index: i32): HeadRow {
    return changetype<HeadRow>(this.table.row(index));
  }
}

function fill(row: HeadRow, head: u32, request: Request): void {
  row.head = head;
  row.pieces = <u32>request.headPieceCount;
  for (let i = 0; i < request.headPieceCount; i++) row.setTag(i, tagOf(request.headPieces[i]));
}
