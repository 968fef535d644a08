// SPDX-License-Identifier: Apache-2.0
// How much KV an endpoint holds, from the log alone: prefixes are found again until too much came in between.
import type { LinkedRow } from "../replay/workloads/linked-rows.ts";
import type { Observed, SeenCall } from "./observed.ts";

/** What one reuse tells: how much KV lay between a prefix and its next use, and whether it was still there. */
interface Reuse {
  /** Tokens of all sessions that the endpoint served since, the session's own among them. */
  distanceTokens: number;
  found: boolean;
}

export interface Capacity {
  /** KV tokens of one endpoint. */
  tokens: number;
  /** Nothing was seen to be evicted: it is at least that much. */
  atLeast: boolean;
}

/** Fewer reuses, or fewer misses among them, tell nothing. */
const MIN_REUSES = 20;
const MIN_MISSES = 5;
/** A prefix counts as found when that share of it was. */
const FOUND_SHARE = 0.5;
/** Below this, what is shared may be another session's head. */
const MIN_PREFIX_TOKENS = 256;

/**
 * The sessions that one endpoint served, the latest last, with the tokens of their longest prompt and answer behind the
 * head, which sessions share.
 */
type Recent = Map<number, number>;

/** Tokens of the sessions that came after this one, and its own; null when it was not here. */
function distanceOf(recent: Recent, session: number): number | null {
  if (!recent.has(session)) return null;
  let tokens = 0;
  for (const [other, size] of [...recent].reverse()) {
    tokens += size;
    if (other === session) break;
  }
  return tokens;
}

function note(recent: Recent, { session, row }: SeenCall): void {
  const own = row.inputTokens - row.headTokens + row.outputTokens;
  const tokens = Math.max(recent.get(session) ?? 0, own);
  recent.delete(session);
  recent.set(session, tokens);
}

/** The latest turn of the same conversation that the same endpoint served, null when none was. */
function lastTurnHere(calls: readonly SeenCall[], { row }: SeenCall): LinkedRow | null {
  for (let index = row.parent; index >= 0; index = calls[index]!.row.parent) {
    const earlier = calls[index]!.row;
    if (earlier.served.endpoint === row.served.endpoint) return earlier;
  }
  return null;
}

/** Follow-ups that came to an endpoint which had served an earlier turn, in order of time. */
function reusesOf({ calls }: Observed): Reuse[] {
  const endpoints = new Map<string, Recent>();
  const reuses: Reuse[] = [];
  for (const call of calls) {
    const { endpoint, cachedTokens } = call.row.served;
    if (endpoint === null) continue;
    const recent: Recent = endpoints.get(endpoint) ?? new Map<number, number>();
    endpoints.set(endpoint, recent);
    const before = cachedTokens === null ? null : lastTurnHere(calls, call);
    const distanceTokens = before === null ? null : distanceOf(recent, call.session);
    if (before !== null && distanceTokens !== null && cachedTokens !== null) {
      const own = before.inputTokens - before.headTokens;
      const found = cachedTokens - before.headTokens >= FOUND_SHARE * own;
      if (own >= MIN_PREFIX_TOKENS) reuses.push({ distanceTokens, found });
    }
    note(recent, call);
  }
  return reuses;
}

/** The distance that parts what was found from what was not with the fewest exceptions. */
function bestCut(sorted: readonly Reuse[]): number {
  let wrong = sorted.filter(({ found }) => found).length; // Everything above the cut.
  let best = { wrong, tokens: sorted[0]!.distanceTokens };
  sorted.forEach(({ distanceTokens, found }, index) => {
    wrong += found ? -1 : 1;
    const next = sorted[index + 1]?.distanceTokens ?? distanceTokens;
    if (wrong < best.wrong) best = { wrong, tokens: (distanceTokens + next) / 2 };
  });
  return Math.round(best.tokens);
}

/** Tokens of all heads: an endpoint keeps them beside the sessions, because every request uses one. */
function headTokensOf({ calls }: Observed): number {
  const heads = new Map(calls.map(({ row }) => [row.app, row.headTokens]));
  return [...heads.values()].reduce((sum, tokens) => sum + tokens, 0);
}

/** @returns null where the log does not tell who found how much */
export function estimateCapacity(observed: Observed): Capacity | null {
  const reuses = reusesOf(observed).sort((a, b) => a.distanceTokens - b.distanceTokens);
  if (reuses.length < MIN_REUSES) return null;
  const misses = reuses.filter(({ found }) => !found).length;
  const atLeast = misses < MIN_MISSES;
  const distanceTokens = atLeast ? reuses.at(-1).distanceTokens : bestCut(reuses);
  return { tokens: distanceTokens + headTokensOf(observed), atLeast };
}
