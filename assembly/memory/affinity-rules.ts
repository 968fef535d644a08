// SPDX-License-Identifier: Apache-2.0
// The rules of affinity, one function each: what a boundary means, who may use it, what is kept.
import { Boundary, Reading, Request } from "../request/request";
import { fold } from "../hash/mix";
import { AffinityEntry, HomeRef, WHOLE_CHAIN } from "./affinity-entry";
import { Fleet } from "./fleet";
import { Homes, MAX_HOMES, NO_MATCH } from "./homes";
import { tagOf } from "./tags";

/** The last boundaries that a session keeps whatever their number. */
const LAST_KEPT: i32 = 4;
/** Requests with the same end within this time are twins (or retries), not a habit. */
const TWIN_WINDOW_S: u32 = 60;
/** Twins that one endpoint takes before others do. */
const TWINS_PER_HOME: i32 = 2;

/** A reference taken out of an entry before the store is read again. */
export class Found {
  slot: i32 = 0;
  generation: u16 = 0;
  tokens: u32 = 0;
  servedS: u32 = 0;
  own: bool = false;
  /** It takes no more of those that share the boundary. */
  full: bool = false;

  take(ref: HomeRef, own: bool, full: bool): void {
    this.slot = <i32>ref.slot;
    this.generation = ref.generation;
    this.tokens = ref.tokens;
    this.servedS = ref.servedS;
    this.own = own;
    this.full = full;
  }
}

/** The whole history is in the body, as far as it was read: its chain means something. */
export function isConversation(request: Request): bool {
  const readable = request.reading == Reading.Conversation || request.reading == Reading.Open;
  const shown = request.turn > 0 && request.boundaryCount > 0;
  return readable && shown && !request.historyHeld;
}

/** Read to its end (or told in headers), and saying one thing only. */
export function isWhole(request: Request): bool {
  return request.reading == Reading.Conversation && !request.ambiguous;
}

export function isStorable(request: Request): bool {
  return isWhole(request) && request.boundaryCount > 0;
}

/** A later request shows this one as ending here: at the end of its list, or before its prefill. */
export function endsAt(request: Request, at: i32): bool {
  const last = request.boundaryCount - 1;
  return at == last || (request.openRun && at == last - 1);
}

export function keyOf(request: Request, boundary: Boundary): u64 {
  return fold(boundary.chain, request.model);
}

/**
 * Chooses the bucket of all boundaries of a conversation: the key of its first one, which is that of run 1 however
 * long the conversation is. Only for requests with a boundary.
 */
export function rootOf(request: Request): u64 {
  return keyOf(request, request.boundaries[0]);
}

export function headOf(request: Request): u32 {
  return tagOf(request.head);
}

export function sessionTag(request: Request): u32 {
  return request.session == 0 ? 0 : tagOf(request.session);
}

export function isOwn(ref: HomeRef, request: Request): bool {
  return ref.session != 0 && ref.session == sessionTag(request);
}

/** Tells how much of the request was served before, and which turn that makes it. */
export function tellPrefix(request: Request, boundary: Boundary, homes: Homes): void {
  if (homes.matchedTurn > 0) {
    let runs = request.boundaries[request.boundaryCount - 1].runs;
    // A request was served that ended before the open run, so the run is an answer and no prefill.
    if (request.openRun && !homes.matchedEnd && homes.matchedServed) runs++;
    homes.verifiedTurn = homes.matchedTurn + max(0, runs - boundary.runs);
  }
  if (homes.headDiffers || homes.doubted) return;
  const whole = !homes.matchedEnd && !homes.shared;
  homes.seenTokens = request.headTokens + (whole ? boundary.afterRunTokens : boundary.prefixTokens);
  homes.seenBytes = request.headBytes + (whole ? boundary.afterRunBytes : boundary.prefixBytes);
}

/**
 * Tokens of this request that an endpoint of the matched entry holds. The run after it only where it made it.
 *
 * @param keepsAnswers endpoints decode what they prefill; otherwise their caches hold prompts alone
 */
export function heldTokens(
  request: Request,
  boundary: Boundary,
  homes: Homes,
  home: Found,
  keepsAnswers: bool,
): u32 {
  if (homes.doubted) return 0;
  // Of another head at most the head itself, until it is known what the two have in common.
  if (homes.headDiffers) return min(home.tokens, request.headTokens);
  if (home.tokens != WHOLE_CHAIN)
    return min(home.tokens, request.headTokens + boundary.prefixTokens);
  const madeRun = keepsAnswers && !homes.matchedEnd && (home.own || !homes.shared);
  return request.headTokens + (madeRun ? boundary.afterRunTokens : boundary.prefixTokens);
}

/** Verified turn of an entry: of the request that ends there, or of the point that a known session passed. */
export function turnAt(request: Request, boundary: Boundary, isEnd: bool, homes: Homes): i32 {
  if (isEnd) return min(homes.verifiedTurn, <i32>u16.MAX_VALUE);
  if (homes.matchedRuns == NO_MATCH) return 0;
  const runs = request.boundaries[request.boundaryCount - 1].runs;
  return max(1, min(homes.verifiedTurn - (runs - boundary.runs), <i32>u16.MAX_VALUE));
}

/**
 * Boundary that a session no longer keeps once it has gone one run further than `boundary`: the fifth from the
 * end then, unless it is a landmark. 0 = none.
 */
export function keyLeaving(request: Request, boundary: Boundary): u64 {
  const leaving = boundary.runs - (LAST_KEPT - 1);
  if (leaving < 0 || isLandmark(leaving)) return 0;
  for (let i = request.boundaryCount - 1; i >= 0; i--) {
    const other = request.boundaries[i];
    if (other.runs == leaving) return keyOf(request, other);
  }
  return 0;
}

/** Boundaries before runs 1, 2, 4, 8, ... are kept for good. */
export function isLandmark(closedRuns: i32): bool {
  return popcnt<i32>(closedRuns + 1) == 1;
}

/** Others end or continue here too, or may: examples that every first request carries, twins, retries. */
export function isShared(entry: AffinityEntry, isEnd: bool, nowMs: u64): bool {
  if (isEnd || entry.turn == 0) return !isCalm(entry, <u32>(nowMs / 1_000));
  return entry.serves > 1;
}

/** Nothing happened here within the twin window. */
export function isCalm(entry: AffinityEntry, nowS: u32): bool {
  const last = entry.lastServedS;
  return nowS > last && nowS - last > TWIN_WINDOW_S;
}

/**
 * An endpoint takes two of those that end at a shared boundary or continue from examples, and as many twins as
 * it served: the others are placed by load instead of piling up.
 */
export function isFull(entry: AffinityEntry, index: i32, isEnd: bool): bool {
  if (isEnd) return entry.ends(index) >= TWINS_PER_HOME;
  const share = entry.turn == 0 ? TWINS_PER_HOME : max(1, entry.ends(index));
  return entry.nexts(index) >= share;
}

export function preferredRef(entry: AffinityEntry, request: Request): i32 {
  for (let i = 0; i < MAX_HOMES; i++) {
    if (isOwn(entry.ref(i), request)) return i;
  }
  if (entry.ref(0).generation == 0) return 1;
  if (entry.ref(1).generation == 0) return 0;
  return entry.ref(1).servedS > entry.ref(0).servedS ? 1 : 0;
}

export function refOf(entry: AffinityEntry, slot: i32, generation: u16): i32 {
  for (let i = 0; i < MAX_HOMES; i++) {
    const ref = entry.ref(i);
    if (<i32>ref.slot == slot && ref.generation == generation && generation != 0) return i;
  }
  return -1;
}

/** Counts one more request that ended at an entry or continues from it, on the endpoint of `slot`. */
export function serveAgain(
  entry: AffinityEntry,
  isEnd: bool,
  request: Request,
  fleet: Fleet,
  slot: i32,
  nowMs: u64,
): void {
  const nowS = <u32>(nowMs / 1_000);
  if ((isEnd || entry.turn == 0) && isCalm(entry, nowS)) entry.forgetCounts();
  if (isEnd) entry.addServe();
  let index = refOf(entry, slot, fleet.generationOf(slot));
  if (index < 0) {
    index = replaceableRef(entry, fleet, nowS);
    if (index < 0) return;
    setRef(entry.ref(index), request, fleet, slot, nowMs);
  }
  entry.ref(index).servedS = nowS;
  if (!isEnd) {
    entry.addNext(index);
    return;
  }
  entry.addEnd(index);
  entry.ref(index).session = sessionTag(request);
}

/** A free place, one whose endpoint left, or the oldest if it is not one of a group of twins; -1 = none. */
export function replaceableRef(entry: AffinityEntry, fleet: Fleet, nowS: u32): i32 {
  for (let i = 0; i < MAX_HOMES; i++) {
    const ref = entry.ref(i);
    if (ref.generation == 0 || fleet.generationOf(<i32>ref.slot) != ref.generation) return i;
  }
  const oldest = entry.ref(1).servedS < entry.ref(0).servedS ? 1 : 0;
  const age = nowS - min(nowS, entry.ref(oldest).servedS);
  return age > TWIN_WINDOW_S ? oldest : -1;
}

/** Writes an endpoint that holds the whole chain. */
export function setRef(ref: HomeRef, request: Request, fleet: Fleet, slot: i32, nowMs: u64): void {
  ref.slot = <u16>slot;
  ref.generation = fleet.generationOf(slot);
  ref.tokens = WHOLE_CHAIN;
  ref.servedS = <u32>(nowMs / 1_000);
  ref.session = sessionTag(request);
}

/** Index of the matched boundary in the request as it is now (more of it may have been read), or -1. */
export function matchedIndex(request: Request, homes: Homes): i32 {
  if (homes.matchedRuns == NO_MATCH) return -1;
  let index = -1;
  for (let i = 0; i < request.boundaryCount; i++) {
    const boundary = request.boundaries[i];
    if (keyOf(request, boundary) == homes.matchedKey) return i;
    if (boundary.runs < homes.matchedRuns) index = i;
  }
  return index;
}
