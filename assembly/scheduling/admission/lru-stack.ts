// SPDX-License-Identifier: Apache-2.0
// The sessions that one endpoint served, in the order in which its KV cache would evict them.
import { StopClass } from "./stop-class";
import {
  anyLandedResident,
  cut,
  FIRST_BYTE,
  FLIGHT_UNIT,
  FLIGHTS,
  landedTokens,
  lanes,
  RESIDENT,
  STOP_BITS,
  STOP_SHIFT,
  sumFlying,
  sumHeld,
  sumResident,
  sumTokens,
  TOKENS,
} from "./stack-words";

/** Sessions that an endpoint's stack remembers; older ones are gone from any cache. */
export const MAX_ENTRIES: i32 = 400;
export const ENTRY_BYTES: i32 = 16;

/** A request in flight for longer was lost with its worker. */
const LONGEST_CALL_SECONDS: f64 = 3_600;

/** No entry of that session. */
export const NO_ENTRY: i32 = -1;

/** Columns are moved in vectors: the last one may reach beyond the entries. */
const COLUMN_ROOM: i32 = MAX_ENTRIES + 8;

/**
 * Newest last. A request in flight counts at the newest end wherever it stands: its blocks are pinned. Kept as
 * columns of 32-bit numbers, so that a search or a sum over all sessions is a few dozen vector steps; and as whoever
 * comes back is mostly among the newest, searches begin there, and what lies below is told by sums that are kept.
 */
export class LruStack {
  count: i32 = 0;
  /** Tokens of the sessions that count as resident. */
  residentTokens: f64 = 0;
  /** Tokens of all sessions. */
  totalTokens: f64 = 0;
  /** Tokens of all requests in flight. */
  flyingTokens: f64 = 0;
  /** Tokens of those that have no first byte yet. */
  private waitingTokens: f64 = 0;
  /** Set by `measure`: tokens that were certainly (low) or possibly (high) used since the session was. */
  low: f64 = 0;
  high: f64 = 0;
  /** Set by `measure`: the stack knew the session. */
  measured: bool = false;
  private readonly tags: StaticArray<u32> = new StaticArray<u32>(COLUMN_ROOM);
  /** Tokens and flags, see stack-words. */
  private readonly words: StaticArray<u32> = new StaticArray<u32>(COLUMN_ROOM);
  /** When the last request began or ended, tenths of a second. */
  private readonly lasts: StaticArray<u32> = new StaticArray<u32>(COLUMN_ROOM);
  /** When the session began, seconds since the epoch. */
  private readonly births: StaticArray<u32> = new StaticArray<u32>(COLUMN_ROOM);

  clear(): void {
    this.count = 0;
    this.residentTokens = 0;
    this.totalTokens = 0;
    this.flyingTokens = 0;
    this.waitingTokens = 0;
  }

  find(session: u64): i32 {
    const tag = tagOf(session);
    const tags = changetype<usize>(this.tags);
    const wanted = i32x4.splat(tag);
    let end = this.count;
    for (; end >= 4; end -= 4) {
      const equal = i32x4.eq(v128.load(tags + ((<usize>(end - 4)) << 2)), wanted);
      if (v128.any_true(equal)) return end + 27 - clz(i32x4.bitmask(equal));
    }
    while (--end >= 0) {
      if (unchecked(this.tags[end]) == tag) return end;
    }
    return NO_ENTRY;
  }

  tokensOf(entry: i32): f64 {
    return <f64>(unchecked(this.words[entry]) & TOKENS);
  }

  inFlight(entry: i32): bool {
    return (unchecked(this.words[entry]) & FLIGHTS) != 0;
  }

  isResident(entry: i32): bool {
    return (unchecked(this.words[entry]) & RESIDENT) != 0;
  }

  stopOf(entry: i32): StopClass {
    return <StopClass>(unchecked(this.words[entry]) >> STOP_SHIFT);
  }

  /** Seconds since the session's last request began (in flight) or ended here. */
  idleSeconds(entry: i32, nowMs: u64): f64 {
    return <f64>max(0, <i32>(tenths(nowMs) - unchecked(this.lasts[entry]))) / 10;
  }

  /** When the session began, seconds since the epoch. */
  bornSeconds(entry: i32): u32 {
    return unchecked(this.births[entry]);
  }

  /**
   * Distance of a session in the stack, without itself. Requests that wait for their prefill hold no memory yet:
   * they count as possible only. False, and no distance, where the stack does not know the session.
   */
  measure(session: u64): bool {
    const own = this.find(session);
    this.low = 0;
    this.high = 0;
    this.measured = own != NO_ENTRY;
    if (!this.measured) return false;
    const mine = this.wordAt(own);
    const end = this.wordAt(this.count);
    const flyingBelow = this.flyingTokens - sumFlying(mine, end);
    const waitingBelow = this.waitingTokens - (sumTokens(mine, end) - sumHeld(mine, end));
    this.high = flyingBelow + sumTokens(mine + 4, end);
    this.low = flyingBelow - waitingBelow + sumHeld(mine + 4, end);
    return true;
  }

  /** Tokens of sessions above this one that hold memory: they may have pushed it out while it waited. */
  heldAbove(session: u64): f64 {
    const own = this.find(session);
    return own == NO_ENTRY ? 0 : sumHeld(this.wordAt(own + 1), this.wordAt(this.count));
  }

  /** A request leaves for the endpoint: its session is the newest and resident. */
  send(session: u64, tokens: f64, bornSeconds: u32, nowMs: u64): void {
    let word: u32 = 0;
    const entry = this.find(session);
    if (entry != NO_ENTRY) {
      word = unchecked(this.words[entry]);
      this.remove(entry);
    } else if (this.count == MAX_ENTRIES) this.remove(0);
    const flights = min((word & FLIGHTS) + FLIGHT_UNIT, FLIGHTS);
    const flags = (word & STOP_BITS) | flights | RESIDENT;
    this.append(tagOf(session), flags | cut(tokens), tenths(nowMs), bornSeconds);
  }

  firstByte(session: u64): void {
    const entry = this.find(session);
    if (entry != NO_ENTRY) this.setWord(entry, unchecked(this.words[entry]) | FIRST_BYTE);
  }

  /** A request ended: its session is the newest, and resident if it is worth waiting for. */
  end(session: u64, tokens: f64, stop: StopClass, resident: bool, nowMs: u64): void {
    const entry = this.find(session);
    if (entry == NO_ENTRY) return;
    const born = this.bornSeconds(entry);
    let word = unchecked(this.words[entry]);
    this.remove(entry);
    if ((word & FLIGHTS) != 0) word -= FLIGHT_UNIT;
    const flies = (word & FLIGHTS) != 0;
    word = flies ? word & (FLIGHTS | FIRST_BYTE) : 0;
    if (resident || flies) word |= RESIDENT;
    word |= cut(tokens) | ((<u32>stop) << STOP_SHIFT);
    this.append(tagOf(session), word, tenths(nowMs), born);
  }

  /** The session went elsewhere: it counts no longer, though its copy is still there. */
  release(session: u64): void {
    const entry = this.find(session);
    if (entry != NO_ENTRY) this.uncount(entry);
  }

  /** The entry counts as resident no longer; its place in the stack stays. */
  uncount(entry: i32): void {
    this.setWord(entry, unchecked(this.words[entry]) & ~RESIDENT);
  }

  /**
   * Sessions without a request in flight count no longer where less than `share` of their copy is left, given the
   * capacity: newer ones have pushed it out. Begins at the oldest and ends where all that is older fits.
   */
  uncountGone(capacity: f64, share: f64): void {
    const excess = this.totalTokens - capacity;
    if (excess <= 0) return;
    let passed = i32x4.splat(0);
    let i = 0;
    for (; i + 4 <= this.count; i += 4) {
      const words = v128.load(this.wordAt(i));
      if (anyLandedResident(words)) {
        let below = lanes(passed);
        if (<f64>below >= excess) return;
        for (let j = i; j < i + 4; j++) below = this.uncountIfGone(j, below, excess, share);
      }
      passed = i32x4.add(passed, landedTokens(words));
    }
    let below = lanes(passed);
    for (; i < this.count; i++) below = this.uncountIfGone(i, below, excess, share);
  }

  /** A request ended without an answer: nothing is known of its copy. */
  abandon(session: u64): void {
    const entry = this.find(session);
    if (entry != NO_ENTRY) this.cancel(entry);
  }

  /** Requests in flight, of all sessions. */
  get flights(): i32 {
    let flights: u32 = 0;
    for (let i = 0; i < this.count; i++) flights += unchecked(this.words[i]) & FLIGHTS;
    return <i32>(flights / FLIGHT_UNIT);
  }

  /** Takes back so many requests, those first whose sessions have been silent for longest. */
  cancelOldest(requests: i32): void {
    for (let i = 0; i < this.count && requests > 0; i++) {
      for (; requests > 0 && this.inFlight(i); requests--) this.cancel(i);
    }
  }

  /** Takes back the requests that were lost with their worker: nobody will tell of their end. */
  cancelLost(nowMs: u64): void {
    for (let i = 0; i < this.count; i++) {
      while (this.inFlight(i) && this.idleSeconds(i, nowMs) > LONGEST_CALL_SECONDS) this.cancel(i);
    }
  }

  /** Writes the columns one after the other; `count * ENTRY_BYTES` bytes. */
  save(to: usize): void {
    const bytes = this.count * 4;
    memory.copy(to, changetype<usize>(this.tags), bytes);
    memory.copy(to + bytes, changetype<usize>(this.words), bytes);
    memory.copy(to + 2 * bytes, changetype<usize>(this.lasts), bytes);
    memory.copy(to + 3 * bytes, changetype<usize>(this.births), bytes);
  }

  /** Takes over what `save` wrote, of at most MAX_ENTRIES sessions. */
  restore(from: usize, count: i32): void {
    this.count = count;
    const bytes = count * 4;
    memory.copy(changetype<usize>(this.tags), from, bytes);
    memory.copy(changetype<usize>(this.words), from + bytes, bytes);
    memory.copy(changetype<usize>(this.lasts), from + 2 * bytes, bytes);
    memory.copy(changetype<usize>(this.births), from + 3 * bytes, bytes);
    this.sumUp();
  }

  /** @returns tokens of the sessions up to and with this one that have no request in flight */
  private uncountIfGone(entry: i32, below: u64, excess: f64, share: f64): u64 {
    const word = unchecked(this.words[entry]);
    if ((word & FLIGHTS) != 0) return below;
    const tokens = <u64>(word & TOKENS);
    const isGone = <f64>below + (1 - share) * <f64>tokens < excess;
    if (isGone && (word & RESIDENT) != 0) this.uncount(entry);
    return below + tokens;
  }

  private wordAt(entry: i32): usize {
    return changetype<usize>(this.words) + ((<usize>entry) << 2);
  }

  private setWord(entry: i32, word: u32): void {
    this.addWord(unchecked(this.words[entry]), -1);
    unchecked((this.words[entry] = word));
    this.addWord(word, 1);
  }

  /** Adds a word to the sums, or takes it back. Sums of whole numbers of this size are exact. */
  private addWord(word: u32, sign: f64): void {
    const tokens = sign * <f64>(word & TOKENS);
    this.totalTokens += tokens;
    if ((word & RESIDENT) != 0) this.residentTokens += tokens;
    if ((word & FLIGHTS) == 0) return;
    this.flyingTokens += tokens;
    if ((word & FIRST_BYTE) == 0) this.waitingTokens += tokens;
  }

  private sumUp(): void {
    const from = this.wordAt(0);
    const to = this.wordAt(this.count);
    this.totalTokens = sumTokens(from, to);
    this.residentTokens = sumResident(from, to);
    this.flyingTokens = sumFlying(from, to);
    this.waitingTokens = this.totalTokens - sumHeld(from, to);
  }

  private cancel(entry: i32): void {
    const word = unchecked(this.words[entry]);
    const flights = (word & FLIGHTS) == 0 ? 0 : (word & FLIGHTS) - FLIGHT_UNIT;
    const kept = flights == 0 ? TOKENS | STOP_BITS : ~FLIGHTS;
    this.setWord(entry, (word & kept) | flights);
  }

  private remove(entry: i32): void {
    this.addWord(unchecked(this.words[entry]), -1);
    close(this.tags, entry, this.count);
    close(this.words, entry, this.count);
    close(this.lasts, entry, this.count);
    close(this.births, entry, this.count);
    this.count--;
  }

  private append(tag: u32, word: u32, last: u32, born: u32): void {
    const entry = this.count++;
    unchecked((this.tags[entry] = tag));
    unchecked((this.words[entry] = word));
    unchecked((this.lasts[entry] = last));
    unchecked((this.births[entry] = born));
    this.addWord(word, 1);
  }
}

/** Takes one number out of the first `count` of a column. What leaves is mostly near the end: calls cost more. */
function close(column: StaticArray<u32>, entry: i32, count: i32): void {
  const start = changetype<usize>(column);
  const end = start + ((<usize>(count - 1)) << 2);
  for (let at = start + ((<usize>entry) << 2); at < end; at += 16) {
    v128.store(at, v128.load(at, 4));
  }
}

function tagOf(session: u64): u32 {
  return <u32>(session ^ (session >> 32));
}

/** Tenths of a second, wrapped: differences are right for years, and negative after the clock was set back. */
function tenths(nowMs: u64): u32 {
  return <u32>(nowMs / 100);
}
