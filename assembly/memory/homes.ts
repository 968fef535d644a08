// SPDX-License-Identifier: Apache-2.0
// What affinity knows about one request: which endpoints hold how much of its prefix.

export const MAX_HOMES: i32 = 2;

/** The answer of a look-up. Reused: the affinity table refills it for each request. */
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
  /** The conversation is known but its head (tools, system text) differs: a weak preference only. */
  headDiffers: bool = false;
}
