// SPDX-License-Identifier: Apache-2.0
// What affinity knows about one request: which endpoints hold how much of its prefix.
import { NO_PLACE } from "./kept-buckets";

export const MAX_HOMES: i32 = 2;

/** The request is counted nowhere yet. */
export const NO_RESERVATION: i32 = -1;

/** No boundary of the request is known. */
export const NO_MATCH: i32 = -1;

/** The answer of a look-up: the stream keeps it until the response, because learning continues from it. */
export class Homes {
  /** 0 = nothing known of this conversation. */
  count: i32 = 0;
  /** Fleet slots of the endpoints, the best first. */
  slots: StaticArray<i32> = new StaticArray<i32>(MAX_HOMES);
  /** Tokens of this request's prefix (head included) that the endpoint is believed to hold. */
  prefixTokens: StaticArray<u32> = new StaticArray<u32>(MAX_HOMES);
  /** When the endpoint last served this session, ms since the epoch. */
  servedMs: StaticArray<u64> = new StaticArray<u64>(MAX_HOMES);
  /** When the session last changed its endpoint, ms since the epoch; 0 = never, as far as is known. */
  movedMs: u64 = 0;
  /** 1 + runs that were verified here; 1 when none was. */
  verifiedTurn: i32 = 1;
  /** Prefix shared with what this gateway has seen served anywhere: what a global tier could return. */
  seenTokens: u32 = 0;
  seenBytes: u32 = 0;
  /**
   * The conversation is known but its head (tools, system text) differs: a weak preference only. Its prefix is
   * what the two heads have in common.
   */
  headDiffers: bool = false;
  /** The home is known by the session key alone: the history was compacted, or begins somewhere else. */
  bySession: bool = false;

  /** The engine finds nothing of this session's prefixes, call after call: they count for nothing. */
  doubted: bool = false;

  /** What the look-up matched, for `Affinity.learn`: closed runs before the boundary, or NO_MATCH. */
  matchedRuns: i32 = NO_MATCH;
  matchedKey: u64 = 0;
  matchedHead: u32 = 0;
  /** Hash that chooses the bucket where the entry was found. */
  matchedPlace: u64 = 0;
  /** Where the table keeps the bucket that was looked at. */
  keptPlace: i32 = NO_PLACE;
  /** Verified turn of the request that ended at the boundary; 0 where no served request is known to have. */
  matchedTurn: i32 = 0;
  /** The entry is on probation: a follow-up makes it live. */
  matchedProbation: bool = false;
  /** The request ends at the boundary: a retry, or a twin. */
  matchedEnd: bool = false;
  /** A request that was served ended at the boundary; false where a known session only passed it. */
  matchedServed: bool = false;
  /** The first home served this very session, by its key. */
  own: bool = false;
  /** Several conversations continue from the boundary: each endpoint takes a bounded number of them. */
  shared: bool = false;
  /** Answers in a row that disproved what was believed of the session. */
  doubts: u8 = 0;
  /** The end of the request as it was stored; 0 = it was not. */
  endKey: u64 = 0;
  endHead: u32 = 0;
  /** Hash that chooses its bucket. */
  endPlace: u64 = 0;
  /** Slot at which this request was counted among those that share the boundary, before it was served. */
  reserved: i32 = NO_RESERVATION;
  /** Boundary that this session does not keep any longer. */
  dropKey: u64 = 0;

  reset(): void {
    this.count = 0;
    this.movedMs = 0;
    this.verifiedTurn = 1;
    this.seenTokens = 0;
    this.seenBytes = 0;
    this.headDiffers = false;
    this.bySession = false;
    this.matchedRuns = NO_MATCH;
    this.matchedKey = 0;
    this.matchedPlace = 0;
    this.keptPlace = NO_PLACE;
    this.matchedHead = 0;
    this.matchedTurn = 0;
    this.matchedProbation = false;
    this.matchedEnd = false;
    this.matchedServed = false;
    this.own = false;
    this.shared = false;
    this.reserved = NO_RESERVATION;
    this.doubted = false;
    this.doubts = 0;
    this.endKey = 0;
    this.endHead = 0;
    this.endPlace = 0;
    this.dropKey = 0;
  }

  /** Adds an endpoint; the caller keeps the best first. */
  add(slot: i32, prefixTokens: u32, servedMs: u64): void {
    if (this.count >= MAX_HOMES) return;
    this.slots[this.count] = slot;
    this.prefixTokens[this.count] = prefixTokens;
    this.servedMs[this.count] = servedMs;
    this.count++;
  }

  /** No endpoint holds more than that many tokens of the prefix. */
  capPrefix(tokens: u32): void {
    for (let i = 0; i < this.count; i++) this.prefixTokens[i] = min(this.prefixTokens[i], tokens);
  }
}
