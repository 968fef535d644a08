// SPDX-License-Identifier: Apache-2.0
// What an answer changes among the boundaries of a conversation: one bucket, written once.
import { Request } from "../request/request";
import { AffinityEntry } from "./affinity-entry";
import {
  endsAt,
  headOf,
  isLandmark,
  keyLeaving,
  keyOf,
  matchedIndex,
  rootOf,
  serveAgain,
  setRef,
  turnAt,
} from "./affinity-rules";
import { EntryTable } from "./entry-table";
import { Fleet } from "./fleet";
import { Homes } from "./homes";
import { Write, WRITE_ATTEMPTS } from "./shared-store";

/** Boundaries that one answer stores: they share a bucket with others, and a known conversation is worth more. */
const STORED_WARM: i32 = 4;
const STORED_COLD: i32 = 3;
/** Of these, the end and the boundary before it are worth a bucket of their own. */
const SPILLED: i32 = 2;

/** One per VM. The request, and what was found of it, are those of `learn` until it returns. */
@final
export class AffinityWriter {
  /** Boundaries of the request to store, the shallowest first, so that the end is the newest. */
  private planned: StaticArray<i32> = new StaticArray<i32>(STORED_WARM);
  private plannedCount: i32 = 0;
  /** Those for which the bucket had no room. */
  private spilled: StaticArray<i32> = new StaticArray<i32>(SPILLED);
  private spilledCount: i32 = 0;
  private revisits: bool = false;
  private promotes: bool = false;
  /** Boundary that the session leaves behind; 0 = none, or it is dealt with. */
  private dropKey: u64 = 0;

  constructor(private table: EntryTable) {}

  /**
   * Stores what the look-up did not find, counts the request where it matched, and lets go what the session leaves
   * behind. One write, and a read where the bucket changed since the look-up; where rows spilled, a read and a write
   * for each row that lies elsewhere.
   */
  learn(request: Request, fleet: Fleet, homes: Homes, slot: i32, nowMs: u64): void {
    const root = rootOf(request);
    const last = request.boundaryCount - 1;
    const matched = matchedIndex(request, homes);
    homes.endKey = keyOf(request, request.boundaries[last]);
    homes.endHead = headOf(request);
    homes.endPlace = matched == last ? homes.matchedPlace : root;
    this.plan(request, matched);
    this.promotes = homes.matchedProbation && homes.verifiedTurn > 1 && !homes.matchedEnd;
    this.revisits = this.promotes || homes.shared || homes.matchedEnd;
    const isHere = this.table.isSameBucket(homes.matchedPlace, root);
    const dropKey = this.plannedCount == 1 ? homes.dropKey : 0;
    let mayLieElsewhere = false;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editAsKept(root, homes.keptPlace);
      this.dropKey = dropKey;
      const changed = this.edit(request, fleet, homes, isHere, slot, nowMs);
      mayLieElsewhere = this.table.hasSpilled(nowMs);
      if (!changed || this.table.commit() != Write.Conflict) break;
    }
    for (let i = 0; i < this.spilledCount; i++) {
      this.storeApart(request, this.spilled[i], fleet, homes, slot, nowMs);
    }
    if (this.revisits && !isHere) this.revisitApart(request, fleet, homes, slot, nowMs);
    if (this.dropKey != 0 && mayLieElsewhere) this.dropApart(root, homes.matchedHead);
  }

  /** What is new: the end, the boundary before it, then landmarks, then the rest. */
  private plan(request: Request, matched: i32): void {
    const last = request.boundaryCount - 1;
    const most = matched < 0 ? STORED_COLD : STORED_WARM;
    let chosen: u32 = 0;
    let count = 0;
    for (let i = last; i > matched && i >= last - 1; i--, count++) chosen |= 1 << i;
    for (let pass = 0; pass < 2; pass++) {
      for (let i = last - 2; i > matched && count < most; i--) {
        if (isLandmark(request.boundaries[i].runs) != (pass == 0)) continue;
        chosen |= 1 << i;
        count++;
      }
    }
    this.plannedCount = count;
    for (let i = 0; i < count; i++) {
      this.planned[i] = ctz(chosen);
      chosen &= chosen - 1;
    }
  }

  /** All changes of the open bucket; false where there are none. */
  private edit(
    request: Request,
    fleet: Fleet,
    homes: Homes,
    isHere: bool,
    slot: i32,
    nowMs: u64,
  ): bool {
    let changed = this.revisits && isHere && this.revisit(request, fleet, homes, slot, nowMs);
    if (this.dropKey != 0 && this.drop(homes.matchedHead)) changed = true;
    this.spilledCount = 0;
    const end = request.boundaryCount - 1;
    for (let i = 0; i < this.plannedCount; i++) {
      const at = this.planned[i];
      if (this.store(request, at, fleet, homes, false, slot, nowMs)) changed = true;
      else if (at > end - SPILLED) this.spilled[this.spilledCount++] = at;
    }
    if (this.spilledCount > 0 && this.table.noteSpill(nowMs)) changed = true;
    return changed;
  }

  /**
   * Stores one boundary in the open bucket.
   * @param makesRoom the oldest goes even if it is in use
   * @returns false where there is no room
   */
  private store(
    request: Request,
    at: i32,
    fleet: Fleet,
    homes: Homes,
    makesRoom: bool,
    slot: i32,
    nowMs: u64,
  ): bool {
    const table = this.table;
    const boundary = request.boundaries[at];
    const isEnd = endsAt(request, at);
    const key = keyOf(request, boundary);
    const head = headOf(request);
    const index = table.locate(key, head);
    if (index >= 0) {
      // Another stream stored it since the look-up: a twin.
      serveAgain(table.entryAt(index), isEnd, request, fleet, slot, nowMs);
      return true;
    }
    // Where a session's ends do not come back (a reminder that moves), they stay on probation.
    const live = homes.matchedTurn > 0 && (homes.matchedServed || !isEnd);
    const hasRoom = table.makeRoom(live, nowMs);
    // A first turn is stored where it is looked for first: a flood of them must not spill.
    if (!hasRoom && !makesRoom && key != rootOf(request)) return false;
    const entry = changetype<AffinityEntry>(table.insert(live));
    entry.key = key;
    entry.head = head;
    entry.turn = <u16>turnAt(request, boundary, isEnd, homes);
    entry.dropKey = keyLeaving(request, boundary);
    entry.doubts = homes.doubts;
    entry.serves = isEnd ? 1 : 0;
    entry.ends0 = entry.serves;
    setRef(entry.ref(0), request, fleet, slot, nowMs);
    carryHomes(entry, homes, fleet, slot, nowMs);
    return true;
  }

  /** Stores a boundary in the bucket of its own key. */
  private storeApart(
    request: Request,
    at: i32,
    fleet: Fleet,
    homes: Homes,
    slot: i32,
    nowMs: u64,
  ): void {
    const key = keyOf(request, request.boundaries[at]);
    const place = this.table.placeApart(key, rootOf(request));
    if (at == request.boundaryCount - 1) homes.endPlace = place;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(place);
      this.store(request, at, fleet, homes, true, slot, nowMs);
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  /** Updates the entry that the look-up matched; false where that is gone. */
  private revisit(request: Request, fleet: Fleet, homes: Homes, slot: i32, nowMs: u64): bool {
    const table = this.table;
    const index = table.locate(homes.matchedKey, homes.matchedHead);
    if (index < 0) return false;
    // What was counted when it was sent is not counted again.
    if (homes.matchedEnd || (homes.shared && homes.reserved != slot)) {
      serveAgain(table.entryAt(index), homes.matchedEnd, request, fleet, slot, nowMs);
    }
    if (this.promotes && !table.isLive(index) && table.makeRoom(true, nowMs)) {
      table.promote(table.locate(homes.matchedKey, homes.matchedHead));
    }
    return true;
  }

  private revisitApart(request: Request, fleet: Fleet, homes: Homes, slot: i32, nowMs: u64): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(homes.matchedPlace);
      const changed = this.revisit(request, fleet, homes, slot, nowMs);
      if (!changed || this.table.commit() != Write.Conflict) return;
    }
  }

  /** Removes the boundary that the session has left behind, unless others continue from it. */
  private drop(head: u32): bool {
    const table = this.table;
    // A clock in the system text: each turn has its own head.
    const index = table.locateNearest(this.dropKey, head);
    if (index < 0) return false;
    this.dropKey = 0;
    if (table.entryAt(index).serves > 1) return false;
    table.remove(index);
    return true;
  }

  private dropApart(root: u64, head: u32): void {
    const key = this.dropKey;
    const place = this.table.placeApart(key, root);
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(place);
      this.dropKey = key;
      if (!this.drop(head) || this.table.commit() != Write.Conflict) return;
    }
  }
}

/** The endpoint that the session leaves still holds the prefix up to here. */
function carryHomes(entry: AffinityEntry, homes: Homes, fleet: Fleet, slot: i32, nowMs: u64): void {
  entry.movedS = <u32>(homes.movedMs / 1_000);
  if (homes.count == 0 || homes.shared || homes.matchedEnd) return;
  if (homes.slots[0] != slot) entry.movedS = <u32>(nowMs / 1_000);
  if (homes.headDiffers) return;
  for (let i = 0; i < homes.count; i++) {
    if (homes.slots[i] == slot) continue;
    const ref = entry.ref(1);
    ref.slot = <u16>homes.slots[i];
    ref.generation = fleet.generationOf(homes.slots[i]);
    ref.tokens = homes.prefixTokens[i];
    ref.servedS = <u32>(homes.servedMs[i] / 1_000);
    return;
  }
}
