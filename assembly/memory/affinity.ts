// SPDX-License-Identifier: Apache-2.0
// Which endpoint holds which conversation: every kept boundary of a session leads to those that served it.
import { Boundary, Reading, Request } from "../request/request";
import { AffinityEntry, ENTRY_BYTES } from "./affinity-entry";
import {
  Found,
  headOf,
  heldTokens,
  isConversation,
  isFull,
  isOwn,
  isShared,
  isStorable,
  isWhole,
  keyOf,
  preferredRef,
  refOf,
  rootOf,
  tellPrefix,
} from "./affinity-rules";
import { AffinityWriter } from "./affinity-writer";
import { EntryTable } from "./entry-table";
import { Fleet } from "./fleet";
import { HeadTable } from "./head-table";
import { Homes, MAX_HOMES, NO_MATCH } from "./homes";
import { NO_SLOT } from "./roster";
import { SessionTable } from "./session-table";
import { SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";

/**
 * Bounds of one request: a look-up reads one bucket and, where that does not know, the session's row; an answer writes
 * the bucket (reading it again where it changed meanwhile), at times also the session's row and a head. With what the
 * fleet reads and writes (5 and 5) that makes 10 reads and 8 writes. Where so many begin alike that rows spilled,
 * SPILLED_READS and two of both more.
 */

/** The deepest boundaries that are looked for: an opening alone says little of a long conversation. */
const LOOKED_AT: i32 = 8;
/** Buckets that a look-up reads for rows that spilled from the first. */
const SPILLED_READS: i32 = 6;
/** A new conversation with more boundaries has much to store; its head waits for the next request. */
const HEAD_WAITS_ABOVE: i32 = 2;

/** Disproved calls in a row after which a session's prefixes count for nothing. */
const DOUBTS: u8 = 2;

export class Affinity {
  /** False where the endpoints only prefill: what the model answers is decoded, and cached, somewhere else. */
  keepsAnswers: bool = true;
  private table: EntryTable;
  private writer: AffinityWriter;
  private sessions: SessionTable;
  private heads: HeadTable;
  private found: StaticArray<Found> = [new Found(), new Found()];
  /** The entry that a look-up matched: the next read of the store ends the life of its row. */
  private row: StaticArray<u8> = new StaticArray<u8>(ENTRY_BYTES);
  private rowIsLive: bool = false;

  /** @param sessions live sessions to remember, see `capacityBytes` */
  constructor(store: SharedStore, sessions: i32) {
    const table = new EntryTable(store, sessions);
    this.table = table;
    this.writer = new AffinityWriter(table);
    this.sessions = new SessionTable(store, sessions);
    this.heads = new HeadTable(store, sessions);
  }

  /**
   * Most bytes that the tables for that many sessions can take: 1.3 KB each. Buckets grow with use, and the
   * rows of a live session take 0.7 KB.
   */
  static capacityBytes(sessions: i32): u64 {
    const chains = EntryTable.capacityBytes(sessions);
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
    const at = this.look(request, homes, nowMs);
    if (at < 0) {
      this.continueSession(request, fleet, homes, nowMs);
      return;
    }
    this.tell(request, at, fleet, homes, nowMs);
    if (homes.shared && !homes.own) this.preferSession(request, fleet, homes, nowMs);
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
    const waits = homes.matchedRuns == NO_MATCH && request.boundaryCount > HEAD_WAITS_ABOVE;
    if (!waits) this.heads.learn(request, nowMs);
    this.writer.learn(request, fleet, homes, slot, nowMs);
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
      this.table.editFor(homes.endPlace);
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

  /** Index of the deepest boundary that is known, or -1; its entry lies in `row` then. */
  private look(request: Request, homes: Homes, nowMs: u64): i32 {
    const last = request.boundaryCount - 1;
    const shallowest = max(0, last - LOOKED_AT + 1);
    const root = rootOf(request);
    homes.keptPlace = this.table.openAndKeep(root);
    homes.matchedPlace = root;
    let at = last;
    while (at >= shallowest && !this.take(request, at)) at--;
    if (at < shallowest) at = -1;
    if (this.table.hasSpilled(nowMs)) return this.lookApart(request, at, root, homes);
    return at;
  }

  /** The same where deeper ones may lie in the buckets of their own keys. */
  private lookApart(request: Request, known: i32, root: u64, homes: Homes): i32 {
    const last = request.boundaryCount - 1;
    const shallowest = max(known, last - SPILLED_READS);
    for (let at = last; at > shallowest; at--) {
      const key = keyOf(request, request.boundaries[at]);
      if (key == root) break;
      const place = this.table.placeApart(key, root);
      this.table.openFor(place);
      if (!this.take(request, at)) continue;
      homes.matchedPlace = place;
      return at;
    }
    return known;
  }

  /** Copies the entry of a boundary out of the open bucket; false where there is none. */
  private take(request: Request, at: i32): bool {
    const key = keyOf(request, request.boundaries[at]);
    const head = headOf(request);
    // The same opening under another head is another application's, not a retry.
    const index = isEndOf(request, at)
      ? this.table.locate(key, head)
      : this.table.locateNearest(key, head);
    if (index < 0) return false;
    this.rowIsLive = this.table.isLive(index);
    memory.copy(changetype<usize>(this.row), this.table.row(index), <usize>ENTRY_BYTES);
    return true;
  }

  /** Fills in what the entry in `row` says of a boundary. */
  private tell(request: Request, at: i32, fleet: Fleet, homes: Homes, nowMs: u64): void {
    const boundary = request.boundaries[at];
    const isEnd = isEndOf(request, at);
    const entry = changetype<AffinityEntry>(changetype<usize>(this.row));
    homes.matchedRuns = boundary.runs;
    homes.matchedKey = entry.key;
    homes.matchedHead = entry.head;
    homes.matchedTurn = <i32>entry.turn;
    homes.matchedServed = entry.serves > 0;
    homes.matchedProbation = !this.rowIsLive;
    homes.matchedEnd = isEnd;
    homes.headDiffers = entry.head != headOf(request);
    homes.movedMs = <u64>entry.movedS * 1_000;
    homes.dropKey = entry.dropKey;
    homes.doubts = entry.doubts;
    homes.doubted = entry.doubts >= DOUBTS;
    homes.shared = isShared(entry, isEnd, nowMs);
    tellPrefix(request, boundary, homes);
    this.listHomes(entry, request, boundary, fleet, homes, nowMs);
    if (homes.headDiffers) this.heads.tellCommon(request, homes);
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
   * Counts a request that is about to be sent to one of the homes of a shared boundary. Without it all twins that
   * are in flight at once would find room at the same endpoint.
   */
  reserve(homes: Homes, fleet: Fleet, slot: i32): void {
    if (!homes.shared || homes.own || homes.matchedEnd) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.table.editAsKept(homes.matchedPlace, homes.keptPlace);
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

  /** While a session stays where it is, its row is written on turns 1, 2, 4, 8, ... only. */
  private learnSession(request: Request, fleet: Fleet, homes: Homes, slot: i32, nowMs: u64): void {
    if (request.identity.isSide) return;
    const stays = homes.own && !homes.bySession && homes.slots[0] == slot;
    if (stays && popcnt<i32>(request.turn) != 1) return;
    const continues = homes.matchedRuns != NO_MATCH && !homes.matchedEnd;
    this.sessions.learn(request, fleet, slot, continues, nowMs);
  }
}

/** The request ends there for all that is known: more of it may still come where it is not read to its end. */
function isEndOf(request: Request, at: i32): bool {
  return at == request.boundaryCount - 1 && request.reading == Reading.Conversation;
}
