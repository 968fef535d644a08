// SPDX-License-Identifier: Apache-2.0
// The sessions that one endpoint served, in the order in which its KV cache would evict them.
import { StopClass } from "./stop-class";

/** Sessions that an endpoint's stack remembers; older ones are gone from any cache. */
export const MAX_ENTRIES: i32 = 400;

/** Words of an entry: session, tokens and flags, when its last request began or ended, birth. */
const WORDS: i32 = 4;
const TOKENS: i32 = 1;
const LAST: i32 = 2;
const BORN: i32 = 3;
export const ENTRY_BYTES: i32 = WORDS * 4;

/** Tokens in the low bits of their word, then requests in flight, first byte, resident, stop class. */
const TOKEN_BITS: u32 = 24;
const MAX_TOKENS: u32 = (1 << TOKEN_BITS) - 1;
const FLIGHT_UNIT: u32 = 1 << 24;
const FLIGHTS: u32 = 15 << 24;
const FIRST_BYTE: u32 = 1 << 28;
const RESIDENT: u32 = 1 << 29;
const STOP_SHIFT: u32 = 30;

/** A request in flight for longer was lost with its worker. */
const LONGEST_CALL_SECONDS: f64 = 3_600;

/** No entry of that session. */
export const NO_ENTRY: i32 = -1;

/**
 * Newest last. A request in flight counts at the newest end wherever it stands: its blocks are pinned. Entries
 * are 16 bytes in a row, so that a table can keep the stack as one value.
 */
export class LruStack {
  count: i32 = 0;
  /** Tokens of the sessions that count as resident. */
  residentTokens: f64 = 0;
  /** Set by `measure`: tokens that were certainly (low) or possibly (high) used since the session was. */
  low: f64 = 0;
  high: f64 = 0;
  /** Set by `measure`: the stack knew the session. */
  measured: bool = false;
  private readonly entries: StaticArray<u32> = new StaticArray<u32>(MAX_ENTRIES * WORDS);

  clear(): void {
    this.count = 0;
    this.residentTokens = 0;
  }

  find(session: u64): i32 {
    const tag = tagOf(session);
    for (let i = this.count - 1; i >= 0; i--) {
      if (this.entries[i * WORDS] == tag) return i;
    }
    return NO_ENTRY;
  }

  tokensOf(entry: i32): f64 {
    return <f64>(this.word(entry) & MAX_TOKENS);
  }

  inFlight(entry: i32): bool {
    return (this.word(entry) & FLIGHTS) != 0;
  }

  isResident(entry: i32): bool {
    return (this.word(entry) & RESIDENT) != 0;
  }

  stopOf(entry: i32): StopClass {
    return <StopClass>(this.word(entry) >> STOP_SHIFT);
  }

  /** Seconds since the session's last request began (in flight) or ended here. */
  idleSeconds(entry: i32, nowMs: u64): f64 {
    return <f64>(tenths(nowMs) - this.entries[entry * WORDS + LAST]) / 10;
  }

  /** When the session began, seconds since the epoch. */
  bornSeconds(entry: i32): u32 {
    return this.entries[entry * WORDS + BORN];
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
    for (let i = 0; i < this.count; i++) {
      if (i == own) continue;
      const word = this.word(i);
      const flying = (word & FLIGHTS) != 0;
      if (i < own && !flying) continue;
      const tokens = <f64>(word & MAX_TOKENS);
      this.high += tokens;
      if (!flying || (word & FIRST_BYTE) != 0) this.low += tokens;
    }
    return true;
  }

  /** Tokens of sessions above this one that hold memory: they may have pushed it out while it waited. */
  heldAbove(session: u64): f64 {
    const own = this.find(session);
    if (own == NO_ENTRY) return 0;
    let tokens: f64 = 0;
    for (let i = own + 1; i < this.count; i++) {
      const word = this.word(i);
      const waiting = (word & FLIGHTS) != 0 && (word & FIRST_BYTE) == 0;
      if (!waiting) tokens += <f64>(word & MAX_TOKENS);
    }
    return tokens;
  }

  /** A request leaves for the endpoint: its session is the newest and resident. */
  send(session: u64, tokens: f64, bornSeconds: u32, nowMs: u64): void {
    let word: u32 = 0;
    const entry = this.find(session);
    if (entry != NO_ENTRY) {
      word = this.word(entry);
      this.remove(entry);
    } else if (this.count == MAX_ENTRIES) this.remove(0);
    const flights = min((word & FLIGHTS) + FLIGHT_UNIT, FLIGHTS);
    const flags = (word & ~(MAX_TOKENS | FLIGHTS | FIRST_BYTE)) | flights | RESIDENT;
    this.append(tagOf(session), flags | cut(tokens), tenths(nowMs), bornSeconds);
  }

  firstByte(session: u64): void {
    const entry = this.find(session);
    if (entry != NO_ENTRY) this.setWord(entry, this.word(entry) | FIRST_BYTE);
  }

  /** A request ended: its session is the newest, and resident if it is worth waiting for. */
  end(session: u64, tokens: f64, stop: StopClass, resident: bool, nowMs: u64): void {
    const entry = this.find(session);
    if (entry == NO_ENTRY) return;
    const born = this.bornSeconds(entry);
    let word = this.word(entry);
    this.remove(entry);
    if ((word & FLIGHTS) != 0) word -= FLIGHT_UNIT;
    word &= ~(MAX_TOKENS | RESIDENT | (3 << STOP_SHIFT));
    if ((word & FLIGHTS) == 0) word &= ~FIRST_BYTE;
    const stays = resident || (word & FLIGHTS) != 0;
    if (stays) word |= RESIDENT;
    this.append(
      tagOf(session),
      word | cut(tokens) | ((<u32>stop) << STOP_SHIFT),
      tenths(nowMs),
      born,
    );
  }

  /** The session went elsewhere, or will not come back: it counts no longer, though its copy is still there. */
  release(session: u64): void {
    const entry = this.find(session);
    if (entry != NO_ENTRY) this.uncount(entry);
  }

  /** The entry counts as resident no longer; its place in the stack stays. */
  uncount(entry: i32): void {
    this.setWord(entry, this.word(entry) & ~RESIDENT);
  }

  /** A request ended without an answer: nothing is known of its copy. */
  abandon(session: u64): void {
    const entry = this.find(session);
    if (entry != NO_ENTRY) this.cancel(entry);
  }

  /** Takes back the requests that were lost with their worker: nobody will tell of their end. */
  cancelLost(nowMs: u64): void {
    for (let i = 0; i < this.count; i++) {
      while (this.inFlight(i) && this.idleSeconds(i, nowMs) > LONGEST_CALL_SECONDS) this.cancel(i);
    }
  }

  /** Writes the entries in a row; `count * ENTRY_BYTES` bytes. */
  save(to: usize): void {
    memory.copy(to, changetype<usize>(this.entries), this.count * ENTRY_BYTES);
  }

  /** Takes over `count` entries in a row, at most MAX_ENTRIES. */
  restore(from: usize, count: i32): void {
    this.count = max(0, min(count, MAX_ENTRIES));
    memory.copy(changetype<usize>(this.entries), from, this.count * ENTRY_BYTES);
    this.residentTokens = 0;
    for (let i = 0; i < this.count; i++) {
      if (this.isResident(i)) this.residentTokens += this.tokensOf(i);
    }
  }

  private cancel(entry: i32): void {
    const word = this.word(entry);
    const flights = (word & FLIGHTS) == 0 ? 0 : (word & FLIGHTS) - FLIGHT_UNIT;
    const kept = flights == 0 ? MAX_TOKENS | (3 << STOP_SHIFT) : ~FLIGHTS;
    this.setWord(entry, (word & kept) | flights);
  }

  private word(entry: i32): u32 {
    return this.entries[entry * WORDS + TOKENS];
  }

  private setWord(entry: i32, word: u32): void {
    if (this.isResident(entry)) this.residentTokens -= this.tokensOf(entry);
    this.entries[entry * WORDS + TOKENS] = word;
    if ((word & RESIDENT) != 0) this.residentTokens += <f64>(word & MAX_TOKENS);
  }

  private remove(entry: i32): void {
    if (this.isResident(entry)) this.residentTokens -= this.tokensOf(entry);
    const at = changetype<usize>(this.entries) + <usize>(entry * ENTRY_BYTES);
    const rest = this.count - entry - 1;
    memory.copy(at, at + ENTRY_BYTES, rest * ENTRY_BYTES);
    this.count--;
  }

  private append(tag: u32, word: u32, last: u32, born: u32): void {
    const at = this.count * WORDS;
    this.entries[at] = tag;
    this.entries[at + TOKENS] = word;
    this.entries[at + LAST] = last;
    this.entries[at + BORN] = born;
    this.count++;
    if ((word & RESIDENT) != 0) this.residentTokens += <f64>(word & MAX_TOKENS);
  }
}

function tagOf(session: u64): u32 {
  return <u32>(session ^ (session >> 32));
}

function cut(tokens: f64): u32 {
  return <u32>min(<f64>MAX_TOKENS, max(0, tokens));
}

/** Tenths of a second, wrapped: differences are right for years. */
function tenths(nowMs: u64): u32 {
  return <u32>(nowMs / 100);
}
