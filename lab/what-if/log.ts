// SPDX-License-Identifier: Apache-2.0
// A user's log as what is replayed of it: the busiest minutes, in sessions, and a clear word where it says too little.
import { Failure } from "../../cli/failure.ts";
import {
  type LinkedRow,
  SessionBuilder,
  type Tree,
  treesOf,
} from "../replay/workloads/linked-rows.ts";
import type { Session } from "../replay/workloads/session.ts";
import { readTrace } from "../replay/workloads/trace-file.ts";
import { busiestFleet, rowsWhere } from "./one-fleet.ts";

/** The part of a log that is replayed. */
export interface Log {
  name: string;
  /** Conversations in order of time, parents by index within these rows; times count from the start of the window. */
  rows: readonly LinkedRow[];
  trees: readonly Tree[];
  spanMs: number;
  /** All conversations of the fleet, and the time that they cover. */
  allRequests: number;
  allMs: number;
  /** Conversations with models on other endpoints. */
  elsewhere: number;
  /** Lines of an access log that are no records. */
  others: number;
}

/** Less tells nothing of a fleet. */
const MIN_REQUESTS = 30;
const MIN_FOLLOW_UPS = 10;
const MIN_SPAN_MS = 60_000;
/** Steps in which the busiest window is looked for. */
const WINDOW_STEP_MS = 60_000;

/** Time from the first start to the last start. */
function spanOf(rows: readonly LinkedRow[]): number {
  return rows.length === 0 ? 0 : rows.at(-1)!.timeMs - rows[0]!.timeMs;
}

/** Start of the window of that length with the most prompt tokens. */
function busiestStart(rows: readonly LinkedRow[], windowMs: number): number {
  const first = rows[0]!.timeMs;
  let best = { startMs: first, tokens: -1 };
  let [from, to, tokens] = [0, 0, 0];
  for (let startMs = first; startMs <= rows.at(-1)!.timeMs; startMs += WINDOW_STEP_MS) {
    while (to < rows.length && rows[to]!.timeMs < startMs + windowMs) {
      tokens += rows[to++]!.inputTokens;
    }
    while (from < to && rows[from]!.timeMs < startMs) tokens -= rows[from++]!.inputTokens;
    if (tokens > best.tokens) best = { startMs, tokens };
  }
  return best.startMs;
}

/** Rows of a window; what continues a row before it begins a session in the middle of its life. */
function cut(rows: readonly LinkedRow[], startMs: number, endMs: number): LinkedRow[] {
  const inside = rowsWhere(rows, ({ timeMs }) => timeMs >= startMs && timeMs <= endMs);
  return inside.map((row) => ({ ...row, timeMs: row.timeMs - startMs }));
}

function requireConversations(file: string, rows: readonly LinkedRow[]): void {
  const followUps = rows.filter(({ parent }) => parent >= 0).length;
  if (rows.length < MIN_REQUESTS) {
    throw new Failure(
      `${file}: too short: ${rows.length} conversations; ${MIN_REQUESTS} are needed`,
    );
  }
  if (followUps < MIN_FOLLOW_UPS) {
    throw new Failure(
      `${file}: ${followUps} of ${rows.length} requests continue another one; without follow-ups there is nothing to keep`,
    );
  }
}

function requireSpan(file: string, spanMs: number): void {
  if (spanMs >= MIN_SPAN_MS) return;
  const seconds = Math.round(spanMs / 1000);
  throw new Failure(
    `${file}: too short: ${seconds} s of traffic; ${MIN_SPAN_MS / 1000} are needed`,
  );
}

/**
 * Reads a trace or an access log.
 * @param windowMs longest part of it that is taken
 * @throws Failure for what is no log, cannot be read, or is too short to tell anything
 */
export function readLog(file: string, windowMs: number): Log {
  const { name, rows: read, others } = readTrace(file);
  const all = busiestFleet(read);
  requireConversations(file, all);
  const allMs = spanOf(all);
  requireSpan(file, allMs);
  const isWhole = allMs <= windowMs;
  const startMs = isWhole ? all[0]!.timeMs : busiestStart(all, windowMs);
  const rows = cut(all, startMs, startMs + windowMs);
  if (!isWhole) requireConversations(`${file}, its busiest part`, rows);
  const spanMs = isWhole ? allMs : windowMs;
  const counts = { allRequests: all.length, elsewhere: read.length - all.length, others };
  return { name, rows, trees: treesOf(rows), spanMs, allMs, ...counts };
}

/** The sessions of a log as it stands, in the order of its trees. */
export function sessionsOf(log: Log): Session[] {
  const builder = new SessionBuilder(log.rows, Infinity);
  return log.trees.map((tree, index) => builder.build(tree, `${log.name}-${index}`, index, 0));
}
