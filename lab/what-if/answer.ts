// SPDX-License-Identifier: Apache-2.0
// The answer of a what-if in sentences: what is wasted now, what the filter would save, from which load on it matters.
import type { Measures } from "../replay/measures/measures.ts";
import type { ArmReport } from "../replay/report/report.ts";
import type { Log } from "./log.ts";
import { measuredPart, type Observed, summary } from "./observed.ts";
import type { Present } from "./present.ts";
import { type LoadPoint, mattersFrom, noticed, seedsOf } from "./study.ts";
import { count, percent, points, seconds, times, tokens } from "./words.ts";

/** Everything that an answer is made of. */
export interface Findings {
  log: Log;
  observed: Observed;
  /** Where the numbers of the fleet come from. */
  fleet: readonly string[];
  present: Present;
  points: readonly LoadPoint[];
  /** Contexts of live sessions over the fleet's KV capacity. */
  contextShare: number;
}

/** The replay of the present is off when its hit rate differs from the log's by more. */
const TRUSTED_DIFFERENCE = 0.05;
/** Above that share of the capacity, sessions push out each other's contexts. */
const FULL_SHARE = 1;

function minutes(ms: number): string {
  const value = ms / 60_000;
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} minutes`;
}

function logLine({ log, observed }: Findings): string {
  const share = percent(observed.followUps / log.rows.length);
  const played = `${count(log.rows.length)} requests (${share} follow-ups) in ${count(log.trees.length)} sessions`;
  const span = `over ${minutes(log.spanMs)}`;
  const part =
    log.rows.length === log.allRequests
      ? ""
      : `, the busiest of ${count(log.allRequests)} requests over ${minutes(log.allMs)}`;
  const other =
    log.elsewhere > 0
      ? `; ${count(log.elsewhere)} requests to models on other endpoints are left out`
      : "";
  const lines = log.others === 1 ? "line was" : "lines were";
  const skipped = log.others > 0 ? `; ${count(log.others)} other ${lines} passed over` : "";
  return `the log: ${played} ${span}${part}${other}${skipped}`;
}

function trustLine(findings: Findings, now: ArmReport): string {
  const { hitRate } = summary(measuredPart(findings.observed, findings.log));
  const replayed = `its replay finds ${percent(now.hit_rate)} of the prompt tokens cached`;
  const today = `today: ${findings.present.arm} (${findings.present.because}); ${replayed}`;
  if (hitRate === null) return `${today}; the log does not tell what was cached`;
  const told = `${today}, the log says ${percent(hitRate)}`;
  if (Math.abs(hitRate - now.hit_rate) <= TRUSTED_DIFFERENCE) return told;
  return `${told}: take the answer as a direction, or correct the fleet with --now, --kv-tokens and --preset`;
}

function again({ prompt_tokens, recomputed }: Measures): number {
  return recomputed * prompt_tokens;
}

function savedLine({ load, now, ours }: LoadPoint): string {
  const at = load === 1 ? "at the load of the log" : `at ${times(load)} the load of the log`;
  const wasted = `${at} your fleet computes ${tokens(again(now))} of ${tokens(now.prompt_tokens)} prompt tokens again (${percent(now.recomputed)})`;
  const saved = `with the filter ${tokens(again(ours))} of ${tokens(ours.prompt_tokens)} (${percent(ours.recomputed)})`;
  const hits = `the hit rate goes from ${percent(now.hit_rate)} to ${percent(ours.hit_rate)}, ${percent(ours.hit_possible)} being possible`;
  return `${wasted}; ${saved}: ${hits}`;
}

function latencyLine({ now, ours, same_jobs: jobs }: LoadPoint): string {
  const change = (value: (arm: Measures) => number): string =>
    `${seconds(value(now))} -> ${seconds(value(ours))}`;
  const ttft = `time to the first token: p50 ${change((arm) => arm.ttft_ms.p50)}, p99 ${change((arm) => arm.ttft_ms.p99)}`;
  if (jobs.jobs === 0) return ttft;
  const jct = `${seconds(jobs.now_s * 1000)} -> ${seconds(jobs.ours_s * 1000)}`;
  return `${ttft}; mean completion time of the sessions that both finished: ${jct}`;
}

/** Whether anybody would notice, which must show in every replay to be said. */
export function mattersLine(all: readonly LoadPoint[]): string {
  const from = mattersFrom(all);
  const means = "a fifth off the slowest answers or a twentieth more tokens within the objective";
  const tried = all.map(({ load }) => times(load)).join(", ");
  const replays = all.flatMap(noticed);
  const seen = replays.filter(Boolean).length;
  if (from === null && seen > 0)
    return `whether it matters to users is open: they would notice in ${seen} of ${replays.length} replays (${means}); a longer log tells more`;
  if (from === null)
    return `it does not matter to users at any load that was tried: ${tried} (${means})`;
  if (from === all[0]!.load)
    return `it matters to users at every load that was tried: ${tried} (${means})`;
  return `it matters to users from ${times(from)} the load of the log on (${means})`;
}

function contextLine(share: number): string {
  const said = `the contexts of live sessions take up to ${percent(share)} of the fleet's KV capacity`;
  if (share <= FULL_SHARE) return said;
  return `${said}: try admission as well (the tune command tells whether it pays)`;
}

/** Largest distance between the hit rates of two seeds. */
function spreadOf(all: readonly LoadPoint[]): number {
  const arms = all.flatMap(({ now, ours }) => [now, ours]);
  return Math.max(
    ...arms.map((arm) => {
      const rates = seedsOf(arm).map(({ hit_rate }) => hit_rate);
      return Math.max(...rates) - Math.min(...rates);
    }),
  );
}

function spreadLine(all: readonly LoadPoint[]): string {
  const own = ownLoad(all);
  const seeds = seedsOf(own.now).length;
  if (seeds === 1) return "one seed: no spread is known";
  const here = `means over ${seeds} seeds, whose hit rates lie up to ${points(spreadOf([own]))} points apart`;
  const others = all.filter((point) => point !== own);
  if (others.length === 0) return here;
  return `${here}, ${points(spreadOf(others))} at other loads (which sessions are played differs)`;
}

/** The point nearest to the log's own load. */
function ownLoad(all: readonly LoadPoint[]): LoadPoint {
  return all.reduce((a, b) => (Math.abs(b.load - 1) < Math.abs(a.load - 1) ? b : a));
}

/** All sentences: the answer, then what it rests on. */
export function answerOf(findings: Findings): string[] {
  const own = ownLoad(findings.points);
  return [
    savedLine(own),
    latencyLine(own),
    mattersLine(findings.points),
    contextLine(findings.contextShare),
    logLine(findings),
    `the fleet: ${findings.fleet.join("; ")}`,
    trustLine(findings, own.now),
    spreadLine(findings.points),
  ];
}
