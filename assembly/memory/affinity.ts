// SPDX-License-Identifier: Apache-2.0
// Which endpoint holds which conversation: every kept boundary of a session leads to those that served it.
import { Boundary, Reading, Request } from "../request/request";
import { AffinityEntry, ENTRY_BYTES } from "./affinity-entry";
import {
  endsAt,
  Found,
  headOf,
  heldTokens,
  isConversation,
  isFull,
  isLandmark,
  isOwn,
  isShared,
  isStorable,
  isWhole,
  keyLeaving,
  keyOf,
  matchedIndex,
  preferredRef,
  refOf,
  serveAgain,
  setRef,
  tellPrefix,
  turnAt,
} from "./affinity-rules";
import { BucketSizes } from "./bucket-table";
import { EntryTable } from "./entry-table";
import { Fleet } from "./fleet";
import { HeadTable } from "./head-table";
import { Homes, MAX_HOMES, NO_MATCH } from "./homes";
import { NO_SLOT } from "./roster";
import { SessionTable } from "./session-table";
import { SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";

const FORMAT: u16 = 0x0201;
const LIVE_ROWS: i32 = 48;
const PROBATION_ROWS: i32 = 12;
/** Boundaries that a session of 36 turns (the median) keeps: six landmarks and the last four. */
const ROWS_PER_SESSION: i32 = 10;
/** Mean live rows of a bucket at the configured number of sessions: three deviations from full. */
const MEAN_ROWS: i32 = 32;
const SIZES = new BucketSizes(ENTRY_BYTES, LIVE_ROWS, PROBATION_ROWS, MEAN_ROWS);

/**
 * Bounds of one request: with what the fleet reads and writes for it (4 and 5), a long conversation that is new here
 * takes 17 reads and 8 writes. Look-ups: 8 boundaries and the session. Learning then stores 3 boundaries, of which
 * the session's row, a head that changed and a head that is new take one each, though not the last two.
 */
const FIND_READS: i32 = 8;
const STORED_WARM: i32 = 4;
const STORED_COLD: i32 = 3;
const LEAST_STORED: i32 = 2;

/** Disproved calls in a row after which a session's prefixes count for nothing. */
const DOUBTS: u8 = 2;

export class Affinity {
  /** False where the endpoints only prefill: what the model answers is decoded, and cached, somewhere else. */
  keepsAnswers: bool = true;
  private table: EntryTable;
  private sessions: SessionTable;
  private heads: HeadTable;
  private found: StaticArray<Found> = [new Found(), new Found()];

  /** @param sessions live sessions to remember, see `capacityBytes` */
  constructor(store: SharedStore, sessions: i32) {
    this.table = new EntryTable(store, "a.", FORMAT, SIZES, sessions * ROWS_PER_SESSION);
    this.sessions = new SessionTable(store, sessions);
    this.heads = new HeadTable(store, sessions);
  }

  /**
   * Most bytes that the tables for that many sessions can take: 1.3 KB each. Buckets grow with use, and the
   * rows of a live session take 0.7 KB.
   */
  static capacityBytes(sessions: i32): u64 {
    const chains = SIZES.capacityBytes(sessions * ROWS_PER_SESSION);
    return chains + SessionTable.capacityBytes(sessions) + HeadTable.capacityBytes(sessions);
  }

  /**
   * Fills `homes` with what is known of a request, whole or as read so far. Looks from the deepest boundary to
   * the shallowest and takes the first that is stored; the session key helps where the chain says nothing.
   */
  find(request: Request, fleet: Fleet, homes: Homes, nowMs: u64): void {
    homes.reset();
    if (!isConversation(request)) {
      if (request.historyHeld) this.continueSession(request, fleet, homes, nowMs);
      return;
    }
    const last = request.boundaryCount - 1;
    const shallowest = max(0, last - FIND_READS + 1);
    for (let i = last; i >= shallowest; i--) {
      if (!this.findAt(request, i, fleet, homes, nowMs)) continue;
      if (homes.shared && !homes.own) this.preferSession(request, fleet, homes, nowMs);
      return;
    }
    this.continueSession(request, fleet, homes, nowMs);
  }

  /**
   * Remembers that the endpoint of `slot` serves this request. `homes` is what `find` said of it; call on a 2xx
   * answer. Nothing is stored for what is ambiguous, broken or no conversation.
   */
  learn(request: Request, fleet: Fleet, homes: Homes, slot: i32, nowMs: u64): void {
    if (fleet.generationOf(slot) == 0) return;
    if (request.historyHeld) {
      if (isWhole(request)) this.learnSession(request, fleet, homes, slot, nowMs);
      return;
    }
    if (!isStorable(request)) return;
    homes.endKey = keyOf(request, request.boundaries[request.boundaryCount - 1]);
    homes.endHead = headOf(request);
    const isNew = homes.matchedRuns == NO_MATCH;
    let spent = homes.headDiffers || (isNew && request.session != 0) ? 1 : 0;
    // A long conversation that is new here takes what there is to spend: its head waits for the next request.
    const waits = isNew && request.boundaryCount > LEAST_STORED;
    if (!waits && this.heads.learn(request, nowMs)) spent++;
    const stored = this.storeNew(request, fleet, homes, spent, slot, nowMs);
    const promotes = homes.matchedProbation && homes.verifiedTurn > 1 && !homes.matchedEnd;
    if (promotes || homes.shared || homes.matchedEnd) {
      this.revisit(request, fleet, homes, promotes, slot, nowMs);
    }
    if (stored == 1 && homes.dropKey != 0) this.drop(homes.dropKey, homes.matchedHead);
    this.learnSession(request, fleet, homes, slot, nowMs);
  }

  /**
   * Takes an answer's report of cached tokens into account, after `learn`. What was believed of the endpoint as a
   * whole is the fleet's; here a session whose prefixes are never found loses its credit, and gets it back.
   *
   * @param found false where far fewer tokens were cached than believed
   */
  judge(homes: Homes, found: bool): void {
    if (homes.endKey == 0 || (found && homes.doubts == 0)) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(homes.endKey);
      const index = this.table.locate(homes.endKey, homes.endHead);
      if (index < 0) return;
      const entry = this.table.entryAt(index);
      if (found) entry.doubts = 0;
      else entry.addDoubt();
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  /** The client said that the session is over: its key leads nowhere any more. */
  freeSession(session: u64): void {
    this.sessions.free(session);
  }

  private findAt(request: Request, at: i32, fleet: Fleet, homes: Homes, nowMs: u64): bool {
    const boundary = request.boundaries[at];
    const head = headOf(request);
    const key = keyOf(request, boundary);
    const isEnd = at == request.boundaryCount - 1 && request.reading == Reading.Conversation;
    this.table.openFor(key);
    let index = this.table.locate(key, head);
    // The same opening under another head is another application's, not a retry.
    if (index < 0 && !isEnd) index = this.table.locateAnyHead(key);
    if (index < 0) return false;
    const entry = this.table.entryAt(index);
    homes.matchedRuns = boundary.runs;
    homes.matchedKey = key;
    homes.matchedHead = entry.head;
    homes.matchedTurn = <i32>entry.turn;
    homes.matchedServed = entry.serves > 0;
    homes.matchedProbation = !this.table.isLive(index);
    homes.matchedEnd = isEnd;
    homes.headDiffers = entry.head != head;
    homes.movedMs = <u64>entry.movedS * 1_000;
    homes.dropKey = entry.dropKey;
    homes.doubts = entry.doubts;
    homes.doubted = entry.doubts >= DOUBTS;
    homes.shared = isShared(entry, isEnd, nowMs);
    tellPrefix(request, boundary, homes);
    this.listHomes(entry, request, boundary, fleet, homes, nowMs);
    if (homes.headDiffers) this.heads.tellCommon(request, homes);
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
    // Resolving may read the store, which ends the life of the entry: take what is needed before.
    const first = preferredRef(entry, request);
    for (let step = 0; step < MAX_HOMES; step++) {
      const index = step == 0 ? first : 1 - first;
      const limited = homes.shared && request.identity.retries == 0;
      const full = limited && isFull(entry, index, homes.matchedEnd);
      this.found[step].take(entry.ref(index), isOwn(entry.ref(index), request), full);
    }
    for (let step = 0; step < MAX_HOMES; step++) {
      const home = this.found[step];
      if (home.generation == 0 || (home.full && !home.own)) continue;
      const slot = fleet.resolve(home.slot, home.generation, nowMs);
      if (slot == NO_SLOT) continue;
      if (homes.count == 0) homes.own = home.own;
      const tokens = heldTokens(request, boundary, homes, home, this.keepsAnswers);
      homes.add(slot, tokens, <u64>home.servedS * 1_000);
    }
  }

  /** Of several that share a boundary, the session key tells which endpoint served this one. */
  private preferSession(request: Request, fleet: Fleet, homes: Homes, nowMs: u64): void {
    const sessions = this.sessions;
    if (!sessions.find(request, fleet, nowMs)) return;
    homes.count = 0;
    homes.add(sessions.slot, homes.seenTokens, sessions.servedMs);
    homes.own = true;
  }

  /** The chain knows nothing: the session may have been compacted, and its head may still be cached. */
  private continueSession(request: Request, fleet: Fleet, homes: Homes, nowMs: u64): void {
    const sessions = this.sessions;
    if (request.identity.isSide || !sessions.find(request, fleet, nowMs)) return;
    // Server-held history shows no head; elsewhere another head leaves nothing to share.
    if (sessions.headDiffers && !request.historyHeld) return;
    homes.bySession = true;
    homes.own = true;
    homes.seenTokens = request.headTokens;
    homes.seenBytes = request.headBytes;
    homes.add(sessions.slot, request.headTokens, sessions.servedMs);
  }

  /**
   * Stores what the look-up did not find: the end, the boundary before it, then landmarks, then the rest.
   * @param spent boundaries that are not stored because the head or the session took their look-ups
   */
  private storeNew(
    request: Request,
    fleet: Fleet,
    homes: Homes,
    spent: i32,
    slot: i32,
    nowMs: u64,
  ): i32 {
    const last = request.boundaryCount - 1;
    const matched = matchedIndex(request, homes);
    if (matched == last) return 0;
    const most = max(LEAST_STORED, (matched < 0 ? STORED_COLD : STORED_WARM) - spent);
    let stored = 1;
    this.store(request, last, fleet, homes, slot, nowMs);
    if (last - 1 > matched) {
      this.store(request, last - 1, fleet, homes, slot, nowMs);
      stored++;
    }
    for (let i = last - 2; i > matched && stored < most; i--) {
      if (!isLandmark(request.boundaries[i].runs)) continue;
      this.store(request, i, fleet, homes, slot, nowMs);
      stored++;
    }
    for (let i = last - 2; i > matched && stored < most; i--) {
      if (isLandmark(request.boundaries[i].runs)) continue;
      this.store(request, i, fleet, homes, slot, nowMs);
      stored++;
    }
    return stored;
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
    const isEnd = endsAt(request, at);
    const key = keyOf(request, boundary);
    const head = headOf(request);
    // Where a session's ends do not come back (a reminder that moves), they stay on probation.
    const live = homes.matchedTurn > 0 && (homes.matchedServed || !isEnd);
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(key);
      const index = this.table.locate(key, head);
      if (index >= 0) {
        // Another stream stored it since the look-up: a twin.
        serveAgain(this.table.entryAt(index), isEnd, request, fleet, slot, nowMs);
      } else {
        const entry = changetype<AffinityEntry>(this.table.insert(live));
        entry.key = key;
        entry.head = head;
        entry.turn = <u16>turnAt(request, boundary, isEnd, homes);
        entry.dropKey = keyLeaving(request, boundary);
        entry.doubts = homes.doubts;
        entry.serves = isEnd ? 1 : 0;
        entry.ends0 = entry.serves;
        setRef(entry.ref(0), request, fleet, slot, nowMs);
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

  /**
   * Counts a request that is about to be sent to one of the homes of a shared boundary. Without it all twins that
   * are in flight at once would find room at the same endpoint.
   */
  reserve(homes: Homes, fleet: Fleet, slot: i32): void {
    if (!homes.shared || homes.own || homes.matchedEnd) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(homes.matchedKey);
      const index = this.table.locate(homes.matchedKey, homes.matchedHead);
      if (index < 0) return;
      const entry = this.table.entryAt(index);
      const ref = refOf(entry, slot, fleet.generationOf(slot));
      if (ref < 0) return;
      entry.addNext(ref);
      if (this.table.commit() == Write.Conflict) continue;
      homes.reserved = slot;
      return;
    }
  }

  /** Updates the entry that the look-up matched. */
  private revisit(
    request: Request,
    fleet: Fleet,
    homes: Homes,
    promotes: bool,
    slot: i32,
    nowMs: u64,
  ): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(homes.matchedKey);
      let index = this.table.locate(homes.matchedKey, homes.matchedHead);
      if (index < 0) return;
      if (promotes && !this.table.isLive(index)) index = this.table.promote(index);
      // What was counted when it was sent is not counted again.
      if (homes.matchedEnd || (homes.shared && homes.reserved != slot)) {
        serveAgain(this.table.entryAt(index), homes.matchedEnd, request, fleet, slot, nowMs);
      }
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  /** Removes a boundary that its session has left behind, unless others continue from it. */
  private drop(key: u64, head: u32): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editFor(key);
      let index = this.table.locate(key, head);
      if (index < 0) index = this.table.locateAnyHead(key); // A clock in the system text: each turn has its own.
      if (index < 0 || this.table.entryAt(index).serves > 1) return;
      this.table.remove(index);
      if (this.table.commit() != Write.Conflict) return;
    }
  }

  /** While a session stays where it is, its row is written on turns 1, 2, 4, 8, ... only. */
  private learnSession(request: Request, fleet: Fleet, homes: Homes, slot: i32, nowMs: u64): void {
    if (request.identity.isSide) return;
    const stays = homes.own && !homes.bySession && homes.slots[0] == slot;
    if (stays && popcnt<i32>(request.turn) != 1) return;
    const continues = homes.matchedRuns != NO_MATCH && !homes.matchedEnd;
    this.sessions.learn(request, fleet, slot, continues, nowMs);
  }
}
