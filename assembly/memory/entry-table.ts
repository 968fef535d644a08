// SPDX-License-Identifier: Apache-2.0
// The buckets of affinity: all boundaries of a conversation lie in one, until too many begin alike and spill.
import { AffinityEntry, ENTRY_BYTES } from "./affinity-entry";
import { mix } from "../hash/mix";
import { BucketSizes, BucketTable } from "./bucket-table";
import { KeptBuckets } from "./kept-buckets";
import { HEADER_BYTES } from "./packed-value";
import { SharedStore } from "./shared-store";

const FORMAT: u16 = 0x0207;
const LIVE_ROWS: i32 = 62;
const PROBATION_ROWS: i32 = 13;
/** Boundaries that a session of 36 turns (the median) keeps: six landmarks and the last four. */
const ROWS_PER_SESSION: i32 = 10;
/**
 * Mean live rows of a bucket at the configured number of sessions: four of them. Simulated, with all of them live, one
 * follow-up in 10,000 is lost, and what goes for newcomers are old landmarks. A look-up copies 4 KB then.
 */
const MEAN_ROWS: i32 = 40;
const BUCKET_BYTES: i32 = HEADER_BYTES + ENTRY_BYTES * (LIVE_ROWS + PROBATION_ROWS);
const SIZES = new BucketSizes(ENTRY_BYTES, LIVE_ROWS, PROBATION_ROWS, MEAN_ROWS);

/** What was used within this time makes no room for others: these spill. */
const RECENT_S: u32 = 300;
/** For how long spilled rows are looked for after a bucket noted them; minutes of 16 bits wrap after 45 days. */
const SPILL_MINUTES: u32 = 60;
/** A bucket that spills on and on is written this often for it. */
const NOTE_MINUTES: u32 = 10;
/** A worker's clock may be that far behind another's. */
const SKEW_MINUTES: u32 = 1;

/**
 * A conversation's bucket is chosen by its root. Where all rows of that bucket are in use, a newcomer goes to the
 * bucket of its own key instead, where the oldest makes room, and the root's bucket notes that and when.
 */
@final
export class EntryTable extends BucketTable {
  private readonly copies: KeptBuckets = new KeptBuckets(BUCKET_BYTES);

  /** @param sessions live sessions that the table is made for */
  constructor(store: SharedStore, sessions: i32) {
    super(store, "a.", FORMAT, SIZES, sessions * ROWS_PER_SESSION);
  }

  /** Looks at the bucket of a hash, and answers where a copy of it is kept for `editAsKept`. */
  openAndKeep(hash: u64): i32 {
    this.openFor(hash);
    return this.keepFor(this.bucketOf(hash), this.copies);
  }

  /** Opens the bucket of a hash for changes as it was kept, once, else as it is. */
  editAsKept(hash: u64, place: i32): void {
    if (this.editKept(this.bucketOf(hash), this.copies, place)) this.bound();
    else this.editFor(hash);
  }

  /** Most bytes that the table for that many sessions can take. */
  static capacityBytes(sessions: i32): u64 {
    return SIZES.capacityBytes(sessions * ROWS_PER_SESSION);
  }

  /** Index of the newest entry of a boundary under that head, or -1. */
  locate(key: u64, head: u32): i32 {
    for (let i = this.count - 1; i >= 0; i--) {
      const entry = this.entryAt(i);
      if (entry.key == key && entry.head == head) return i;
    }
    return -1;
  }

  /** The same; where there is none, of the newest entry under another head. */
  locateNearest(key: u64, head: u32): i32 {
    let nearest = -1;
    for (let i = this.count - 1; i >= 0; i--) {
      const entry = this.entryAt(i);
      if (entry.key != key) continue;
      if (entry.head == head) return i;
      if (nearest < 0) nearest = i;
    }
    return nearest;
  }

  /** The entry lives as long as its row. */
  entryAt(index: i32): AffinityEntry {
    return changetype<AffinityEntry>(this.row(index));
  }

  /**
   * Makes room for a row: of its segment the oldest goes that was not used lately.
   * @returns false where all were
   */
  makeRoom(live: bool, nowMs: u64): bool {
    if (!this.isFull(live)) return true;
    const end = live ? <i32>this.mark : this.count;
    for (let i = live ? 0 : <i32>this.mark; i < end; i++) {
      if (isRecent(this.entryAt(i), <u32>(nowMs / 1_000))) continue;
      this.remove(i);
      return true;
    }
    return false;
  }

  /** Hash that chooses the bucket to which a row spills from the bucket of its root: of its key, if that is another. */
  placeApart(key: u64, root: u64): u64 {
    return this.isSameBucket(key, root) ? mix(key) : key;
  }

  /** Rows that belong here may lie in the buckets of their own keys. */
  hasSpilled(nowMs: u64): bool {
    return this.note != 0 && this.minutesSinceSpill(nowMs) <= SPILL_MINUTES;
  }

  /** Notes in the open bucket that rows of it spill. False where that is known already. */
  noteSpill(nowMs: u64): bool {
    if (this.note != 0 && this.minutesSinceSpill(nowMs) <= NOTE_MINUTES) return false;
    this.note = max<u16>(1, <u16>minuteOf(nowMs));
    return true;
  }

  private minutesSinceSpill(nowMs: u64): u32 {
    return (minuteOf(nowMs) + SKEW_MINUTES - <u32>this.note) & (<u32>u16.MAX_VALUE);
  }
}

/** A time that lies as far ahead is a damaged one. */
function isRecent(entry: AffinityEntry, nowS: u32): bool {
  const lastS = entry.lastServedS;
  return max(nowS, lastS) - min(nowS, lastS) <= RECENT_S;
}

function minuteOf(nowMs: u64): u32 {
  return <u32>(nowMs / 60_000);
}
