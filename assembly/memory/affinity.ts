// SPDX-License-Identifier: Apache-2.0
// Which endpoint holds which conversation: every kept boundary of a session leads to those that served it.
import { Boundary, Reading, Request } from "../request/request";
import { fold } from "../hash/mix";
import { AffinityEntry, ENTRY_BYTES, HomeRef, WHOLE_CHAIN } from "./affinity-entry";
import { BucketTable } from "./bucket-table";
import { Fleet } from "./fleet";
import { Homes, MAX_HOMES, NO_MATCH } from "./homes";
import { NO_SLOT } from "./roster";
import { SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";
import { tagOf } from "./tags";

const FORMAT: u16 = 0x0201;
const LIVE_ROWS: i32 = 48;
const PROBATION_ROWS: i32 = 12;
/** Boundaries that a session keeps at the median (36 turns) and beyond: 1, 2, 4, ... and the last four. */
const ROWS_PER_SESSION: f64 = 10;
/** Mean live rows of a bucket at the configured number of sessions, far enough from full. */
const MEAN_ROWS: f64 = 32;

/** Look-ups of one request: with what else it reads it stays within 17. */
const FIND_READS: i32 = 11;
/** Boundaries stored by one request. */
const LEARN_WRITES: i32 = 6;
/** The last boundaries that a session keeps whatever their number. */
const LAST_KEPT: i32 = 4;

/** Requests with the same end within this time are twins (or retries), not a habit. */
const TWIN_WINDOW_S: u32 = 60;
/** Twins that one endpoint takes before others do. */
const TWINS_PER_HOME: i32 = 2;

export class Affinity {
  private table: BucketTable;

  /** @param sessions live sessions to remember; costs at most 1.2 KB each */
  constructor(store: SharedStore, sessions: i32) {
    const buckets = Affinity.bucketsFor(sessions);
    this.table = new BucketTable(
      store,
      "a.",
      FORMAT,
      ENTRY_BYTES,
      buckets,
      LIVE_ROWS,
      PROBATION_ROWS,
    );
  }

  static bucketsFor(sessions: i32): u32 {
    return <u32>max(1, Math.ceil((<f64>sessions * ROWS_PER_SESSION) / MEAN_ROWS));
  }

  /** Most bytes that the table for that many sessions can take; reached only when every bucket is full. */
  static capacityBytes(sessions: i32): u64 {
    const rows = LIVE_ROWS + PROBATION_ROWS;
    return BucketTable.capacityBytes(Affinity.bucketsFor(sessions), ENTRY_BYTES, rows);
  }

  /**
   * Fills `homes` with what is known of a request, whole or as read so far. Looks from the deepest boundary to
   * the shallowest and takes the first that is stored.
   */
  find(request: Request, fleet: Fleet, homes: Homes, nowMs: u64): void {
    homes.reset();
    if (!isConversation(request)) return;
    const last = request.boundaryCount - 1;
    const shallowest = max(0, last - FIND_READS + 1);
    for (let i = last; i >= shallowest; i--) {
      if (this.findAt(request, i, fleet, homes, nowMs)) return;
    }
  }

  /**
   * Remembers that the endpoint of `slot` serves this request. `homes` is what `find` said of it; call on a 2xx
   * answer. Nothing is stored for what is ambiguous, broken or no conversation.
   */
  learn(request: Request, fleet: Fleet, homes: Homes, slot: i32, nowMs: u64): void {
    if (!isStorable(request) || fleet.generationOf(slot) == 0) return;
    const last = request.boundaryCount - 1;
    const endKey = keyOf(request, request.boundaries[last]);
    let writes = 0;
    for (let i = last; i >= 0 && writes < LEARN_WRITES; i--) {
      const boundary = request.boundaries[i];
      const key = keyOf(request, boundary);
      if (key == homes.matchedKey || boundary.runs < homes.matchedRuns) break;
      this.store(request, i, fleet, homes, slot, nowMs);
      writes++;
    }
    if (homes.matchedRuns == NO_MATCH) return;
    if (endKey == homes.matchedKey || homes.matchedProbation || homes.shared) {
      this.revisit(request, fleet, homes, slot, nowMs);
    }
    if (homes.dropKey != 0 && endKey != homes.matchedKey) {
      this.drop(homes.dropKey, homes.matchedHead);
    }
  }

  /** Forgets what an answer disproved: the endpoint reported that it had far less cached than believed. */
  voidEntry(homes: Homes, fleet: Fleet, slot: i32): void {
    if (homes.matchedRuns == NO_MATCH) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(homes.matchedKey);
      const index = this.locate(homes.matchedKey, homes.matchedHead);
      if (index < 0) return;
      const entry = this.entryAt(index);
      const home = refOf(entry, slot, fleet.generationOf(slot));
      if (home < 0) return;
      entry.ref(home).generation = 0;
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  private findAt(request: Request, at: i32, fleet: Fleet, homes: Homes, nowMs: u64): bool {
    const boundary = request.boundaries[at];
    const head = headOf(request);
    const key = keyOf(request, boundary);
    const isEnd = at == request.boundaryCount - 1;
    this.table.openFor(key);
    let index = this.locate(key, head);
    if (index < 0) {
      index = isEnd ? -1 : this.locateAnyHead(key);
      if (index < 0) return false;
    }
    const entry = this.entryAt(index);
    homes.matchedRuns = boundary.runs;
    homes.matchedKey = key;
    homes.matchedHead = entry.head;
    homes.matchedTurn = <i32>entry.turn;
    homes.matchedProbation = !this.table.isLive(index);
    homes.matchedEnd = isEnd;
    homes.headDiffers = entry.head != head;
    homes.movedMs = <u64>entry.movedS * 1_000;
    homes.dropKey = entry.dropKey;
    homes.shared = isShared(entry, isEnd, nowMs);
    tellPrefix(request, boundary, isEnd, homes);
    this.listHomes(entry, request, boundary, fleet, homes, nowMs);
    return true;
  }

  /** Endpoints of an entry: the session's own first, then the latest; full ones of a shared entry stay out. */
  private listHomes(
    entry: AffinityEntry,
    request: Request,
    boundary: Boundary,
    fleet: Fleet,
    homes: Homes,
    nowMs: u64,
  ): void {
    const first = preferredRef(entry, request);
    // Resolving may read the store, which ends the life of the entry: take what is needed before.
    const count = MAX_HOMES;
    for (let step = 0; step < count; step++) {
      const index = step == 0 ? first : 1 - first;
      const ref = entry.ref(index);
      found[step].take(ref, <i32>entry.uses(index), isOwn(ref, request));
    }
    for (let step = 0; step < count; step++) {
      const home = found[step];
      const full = homes.shared && !home.own && home.uses >= TWINS_PER_HOME;
      if (home.generation == 0 || full) continue;
      const slot = fleet.resolve(home.slot, home.generation, nowMs);
      if (slot == NO_SLOT) continue;
      homes.add(slot, heldTokens(request, boundary, homes, home), <u64>home.servedS * 1_000);
    }
  }

  private store(
    request: Request,
    at: i32,
    fleet: Fleet,
    homes: Homes,
    slot: i32,
    nowMs: u64,
  ): void {
    const boundary = request.boundaries[at];
    const isEnd = at == request.boundaryCount - 1;
    const key = keyOf(request, boundary);
    const head = headOf(request);
    const live = homes.matchedRuns != NO_MATCH && homes.verifiedTurn > 1;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(key);
      const index = this.locate(key, head);
      if (index >= 0) {
        // Another stream stored it since the look-up: a twin.
        this.serveAgain(this.entryAt(index), isEnd, request, fleet, slot, nowMs);
      } else {
        const entry = changetype<AffinityEntry>(this.table.insert(live));
        entry.key = key;
        entry.head = head;
        entry.turn = <u16>turnAt(request, boundary, isEnd, homes);
        entry.serves = isEnd ? 1 : 0;
        entry.dropKey = isEnd ? keyLeaving(request) : 0;
        setRef(entry.ref(0), request, fleet, slot, WHOLE_CHAIN, nowMs);
        this.carryHomes(entry, homes, fleet, slot, nowMs);
      }
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  /** The endpoint that the session leaves still holds the prefix up to here. */
  private carryHomes(
    entry: AffinityEntry,
    homes: Homes,
    fleet: Fleet,
    slot: i32,
    nowMs: u64,
  ): void {
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

  /** Updates the entry that the look-up matched. */
  private revisit(request: Request, fleet: Fleet, homes: Homes, slot: i32, nowMs: u64): void {
    const live = homes.verifiedTurn > 1 && !homes.matchedEnd;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(homes.matchedKey);
      let index = this.locate(homes.matchedKey, homes.matchedHead);
      if (index < 0) return;
      if (live && !this.table.isLive(index)) index = this.table.promote(index);
      const entry = this.entryAt(index);
      if (homes.shared || homes.matchedEnd) {
        this.serveAgain(entry, homes.matchedEnd, request, fleet, slot, nowMs);
      }
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  /** One more request that ended here, or that continues from where others do. */
  private serveAgain(
    entry: AffinityEntry,
    isEnd: bool,
    request: Request,
    fleet: Fleet,
    slot: i32,
    nowMs: u64,
  ): void {
    const nowS = <u32>(nowMs / 1_000);
    if (isCalm(entry, nowS)) {
      entry.uses0 = 0;
      entry.uses1 = 0;
      entry.serves = 0;
    }
    if (isEnd && entry.serves < 255) entry.serves++;
    const known = refOf(entry, slot, fleet.generationOf(slot));
    if (known >= 0) {
      entry.setUses(known, entry.uses(known) + 1);
      entry.ref(known).servedS = nowS;
      if (isEnd) entry.ref(known).session = sessionTag(request);
      return;
    }
    const free = replaceableRef(entry, fleet, nowS);
    if (free < 0) return;
    setRef(entry.ref(free), request, fleet, slot, WHOLE_CHAIN, nowMs);
    entry.setUses(free, 1);
  }

  private drop(key: u64, head: u32): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(key);
      const index = this.locate(key, head);
      if (index < 0 || this.entryAt(index).serves > 1) return;
      this.table.remove(index);
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  private locate(key: u64, head: u32): i32 {
    for (let i = this.table.count - 1; i >= 0; i--) {
      const entry = this.entryAt(i);
      if (entry.key == key && entry.head == head) return i;
    }
    return -1;
  }

  private locateAnyHead(key: u64): i32 {
    for (let i = this.table.count - 1; i >= 0; i--) {
      if (this.entryAt(i).key == key) return i;
    }
    return -1;
  }

  private entryAt(index: i32): AffinityEntry {
    return changetype<AffinityEntry>(this.table.row(index));
  }
}

/** A reference taken out of an entry before the store is read again. */
class Found {
  slot: i32 = 0;
  generation: u16 = 0;
  tokens: u32 = 0;
  servedS: u32 = 0;
  uses: i32 = 0;
  own: bool = false;

  take(ref: HomeRef, uses: i32, own: bool): void {
    this.slot = <i32>ref.slot;
    this.generation = ref.generation;
    this.tokens = ref.tokens;
    this.servedS = ref.servedS;
    this.uses = uses;
    this.own = own;
  }
}

const found: StaticArray<Found> = [new Found(), new Found()];

function isConversation(request: Request): bool {
  const readable = request.reading == Reading.Conversation || request.reading == Reading.Open;
  return readable && request.turn > 0 && request.boundaryCount > 0;
}

function isStorable(request: Request): bool {
  return isConversation(request) && request.reading == Reading.Conversation && !request.ambiguous;
}

function keyOf(request: Request, boundary: Boundary): u64 {
  return fold(boundary.chain, request.model);
}

function headOf(request: Request): u32 {
  return tagOf(request.head);
}

function sessionTag(request: Request): u32 {
  return request.session == 0 ? 0 : tagOf(request.session);
}

function isOwn(ref: HomeRef, request: Request): bool {
  return ref.session != 0 && ref.session == sessionTag(request);
}

/** Tells how much of the request was served before, and which turn that makes it. */
function tellPrefix(request: Request, boundary: Boundary, isEnd: bool, homes: Homes): void {
  if (homes.matchedTurn > 0) {
    const runs = request.boundaries[request.boundaryCount - 1].runs;
    homes.verifiedTurn = homes.matchedTurn + max(0, runs - boundary.runs);
  }
  if (homes.headDiffers) return;
  const whole = !isEnd && !homes.shared;
  homes.seenTokens = request.headTokens + (whole ? boundary.afterRunTokens : boundary.prefixTokens);
  homes.seenBytes = request.headBytes + (whole ? boundary.afterRunBytes : boundary.prefixBytes);
}

/** Tokens of this request that an endpoint of the matched entry holds. The run after it only where it made it. */
function heldTokens(request: Request, boundary: Boundary, homes: Homes, home: Found): u32 {
  if (homes.headDiffers) return 0;
  if (home.tokens != WHOLE_CHAIN)
    return min(home.tokens, request.headTokens + boundary.prefixTokens);
  const madeRun = !homes.matchedEnd && (home.own || !homes.shared);
  return request.headTokens + (madeRun ? boundary.afterRunTokens : boundary.prefixTokens);
}

/** Verified turn of an entry: of the request that ends there, or of the point that a known session passed. */
function turnAt(request: Request, boundary: Boundary, isEnd: bool, homes: Homes): i32 {
  if (isEnd) return min(homes.verifiedTurn, <i32>u16.MAX_VALUE);
  if (homes.matchedRuns == NO_MATCH) return 0;
  const runs = request.boundaries[request.boundaryCount - 1].runs;
  return max(1, min(homes.verifiedTurn - (runs - boundary.runs), <i32>u16.MAX_VALUE));
}

/** Boundary that is the fifth from the end when the next turn is stored, unless its number is a landmark. */
function keyLeaving(request: Request): u64 {
  const leaving = request.boundaries[request.boundaryCount - 1].runs - (LAST_KEPT - 1);
  if (leaving < 0 || isLandmark(leaving)) return 0;
  for (let i = request.boundaryCount - 1; i >= 0; i--) {
    const boundary = request.boundaries[i];
    if (boundary.runs == leaving) return keyOf(request, boundary);
  }
  return 0;
}

/** Boundaries before runs 1, 2, 4, 8, ... are kept for good. */
export function isLandmark(closedRuns: i32): bool {
  return popcnt<i32>(closedRuns + 1) == 1;
}

/** Others end or continue here too, or may: examples that every first request carries, twins, retries. */
function isShared(entry: AffinityEntry, isEnd: bool, nowMs: u64): bool {
  if (isEnd || entry.turn == 0) return !isCalm(entry, <u32>(nowMs / 1_000));
  return entry.serves > 1;
}

function isCalm(entry: AffinityEntry, nowS: u32): bool {
  const last = entry.lastServedS;
  return nowS > last && nowS - last > TWIN_WINDOW_S;
}

function preferredRef(entry: AffinityEntry, request: Request): i32 {
  for (let i = 0; i < MAX_HOMES; i++) {
    if (isOwn(entry.ref(i), request)) return i;
  }
  if (entry.ref(0).generation == 0) return 1;
  if (entry.ref(1).generation == 0) return 0;
  return entry.ref(1).servedS > entry.ref(0).servedS ? 1 : 0;
}

function refOf(entry: AffinityEntry, slot: i32, generation: u16): i32 {
  for (let i = 0; i < MAX_HOMES; i++) {
    const ref = entry.ref(i);
    if (<i32>ref.slot == slot && ref.generation == generation && generation != 0) return i;
  }
  return -1;
}

/** A free place, one whose endpoint left, or the oldest if it is not one of a group of twins; -1 = none. */
function replaceableRef(entry: AffinityEntry, fleet: Fleet, nowS: u32): i32 {
  for (let i = 0; i < MAX_HOMES; i++) {
    const ref = entry.ref(i);
    if (ref.generation == 0 || fleet.generationOf(<i32>ref.slot) != ref.generation) return i;
  }
  const oldest = entry.ref(1).servedS < entry.ref(0).servedS ? 1 : 0;
  const age = nowS - min(nowS, entry.ref(oldest).servedS);
  return age > TWIN_WINDOW_S ? oldest : -1;
}

function setRef(
  ref: HomeRef,
  request: Request,
  fleet: Fleet,
  slot: i32,
  tokens: u32,
  nowMs: u64,
): void {
  ref.slot = <u16>slot;
  ref.generation = fleet.generationOf(slot);
  ref.tokens = tokens;
  ref.servedS = <u32>(nowMs / 1_000);
  ref.session = sessionTag(request);
}
