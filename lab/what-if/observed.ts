// SPDX-License-Identifier: Apache-2.0
// What a log itself tells of the present: hits, what was computed again, times to the first token, who served whom.
import { quantile } from "simple-statistics";
import { KnownPrefixes } from "../replay/measures/known-prefixes.ts";
import type { LinkedRow } from "../replay/workloads/linked-rows.ts";
import type { Call, Session } from "../replay/workloads/session.ts";
import { type Log, sessionsOf } from "./log.ts";
import { WARMUP_SHARE } from "./plan.ts";

/** One request of the log beside what could have been found of its prompt. */
export interface SeenCall {
  row: LinkedRow;
  /** Index of its session. */
  session: number;
  /** Row that it continues, null for a first one. */
  before: LinkedRow | null;
  /** Prompt tokens that an engine with an infinite cache would have found. */
  possibleTokens: number;
}

export interface Observed {
  calls: readonly SeenCall[];
  followUps: number;
  promptTokens: number;
  possibleTokens: number;
  /** Of requests that report cached tokens; null where too few do. */
  hitRate: number | null;
  /** Share of all prompt tokens that somebody had computed before and that were computed again; null likewise. */
  recomputed: number | null;
  ttftMs: { p50: number; p99: number } | null;
}

/** Fewer answers that tell something are taken for none. */
const MIN_TOLD = 20;

interface Moment {
  atMs: number;
  /** Ends come before starts of the same moment. */
  ends: boolean;
  index: number;
}

/** Starts and ends of all rows in order. */
function momentsOf(rows: readonly LinkedRow[]): Moment[] {
  const moments = rows.flatMap(({ timeMs, durationMs }, index): Moment[] => [
    { atMs: timeMs, ends: false, index },
    { atMs: timeMs + (durationMs ?? 0), ends: true, index },
  ]);
  return moments.sort(
    (a, b) => a.atMs - b.atMs || Number(b.ends) - Number(a.ends) || a.index - b.index,
  );
}

/** What an infinite cache would have found, row by row, in the order in which the log was played. */
function possibleOf(
  log: Log,
  placeOf: readonly [session: Session, call: Call][],
  blockTokens: number,
): number[] {
  const known = new KnownPrefixes(blockTokens, ({ app }) => app.headTokens);
  const possible = new Array<number>(log.rows.length).fill(0);
  for (const { ends, index } of momentsOf(log.rows)) {
    const [session, call] = placeOf[index]!;
    const { inputTokens, outputTokens } = log.rows[index]!;
    if (ends) known.learn(session, call, inputTokens, outputTokens);
    else possible[index] = Math.min(inputTokens - 1, known.find(session, call));
  }
  return possible;
}

/** Sums over the log what its answers told. */
export function observe(log: Log, blockTokens: number): Observed {
  const sessions = sessionsOf(log);
  const placeOf: [Session, Call][] = [];
  const sessionOf: number[] = [];
  log.trees.forEach((tree, index) => {
    tree.forEach((row, call) => {
      placeOf[row] = [sessions[index]!, sessions[index]!.calls[call]!];
      sessionOf[row] = index;
    });
  });
  const possible = possibleOf(log, placeOf, blockTokens);
  const calls = log.rows.map((row, index) => ({
    row,
    session: sessionOf[index]!,
    before: row.parent < 0 ? null : log.rows[row.parent]!,
    possibleTokens: possible[index]!,
  }));
  return { calls, ...summary(calls) };
}

/** The calls after the warm-up, those that replays measure. */
export function measuredPart({ calls }: Observed, log: Log): SeenCall[] {
  const fromMs = log.spanMs * WARMUP_SHARE;
  return calls.filter(({ row }) => row.timeMs >= fromMs);
}

/** Sums of calls, all or those of a part of the log. */
export function summary(calls: readonly SeenCall[]): Omit<Observed, "calls"> {
  const sum = (of: readonly SeenCall[], value: (call: SeenCall) => number): number =>
    of.reduce((total, call) => total + value(call), 0);
  const told = calls.filter(({ row }) => row.served.cachedTokens !== null);
  const toldTokens = sum(told, ({ row }) => row.inputTokens);
  const cachedOf = ({ row }: SeenCall): number => row.served.cachedTokens ?? 0;
  const lost = sum(told, (call) => Math.max(0, call.possibleTokens - cachedOf(call)));
  const ttfts = calls.map(({ row }) => row.served.ttftMs).filter((ms) => ms !== null);
  return {
    followUps: calls.filter(({ before }) => before !== null).length,
    promptTokens: sum(calls, ({ row }) => row.inputTokens),
    possibleTokens: sum(calls, ({ possibleTokens }) => possibleTokens),
    hitRate: told.length < MIN_TOLD ? null : sum(told, cachedOf) / toldTokens,
    recomputed: told.length < MIN_TOLD ? null : lost / toldTokens,
    ttftMs:
      ttfts.length < MIN_TOLD ? null : { p50: quantile(ttfts, 0.5), p99: quantile(ttfts, 0.99) },
  };
}
