// SPDX-License-Identifier: Apache-2.0
// The measures of docs/measures.md, computed once here for every table, page and JSON.
import { max, mean, quantileSorted, standardDeviation, sum } from "simple-statistics";
import { type ArmRun, cachedTokensOf, type CallRecord } from "./record.ts";

const LOAD_WINDOW_MS = 60_000;
/** TTFT objective: one second and 62.5 ms per thousand prompt tokens. */
const SLO_TTFT_MS = 1000;
const SLO_TTFT_PER_TOKEN_MS = 0.0625;
const SLO_TPOT_MS = 50;
const SLO_TPOT_STRICT_MS = 20;
/** Turns that the table of hit rates by turn shows on their own; later ones share a row. */
const LAST_SINGLE_TURN = 6;

export interface TurnRow {
  /** 1, 2, ..., or "7+". */
  turn: string;
  requests: number;
  hit_rate: number;
  hit_possible: number;
}

export interface Spread {
  mean: number;
  p50: number;
  p90: number;
  p95: number;
  p99: number;
}

/** Times of whole sessions (jobs) and of turns as users see them. */
export interface JobMeasures {
  jobs: number;
  unfinished_jobs: number;
  jct_s: Spread;
  jct_per_token_ms: number;
  /** Mean by quartile of the sessions' tokens, smallest first. */
  jct_by_size_s: number[];
  jct_hold_s: number;
  jct_queue_s: number;
  jct_kv_s: number;
  jct_prefill_s: number;
  jct_decode_s: number;
  jct_tool_s: number;
  turn_jobs: number;
  turn_jct_s: Spread;
}

/**
 * Names are those of docs/measures.md. Rates are fractions, times are simulated. NaN, `null` in JSON, where there is
 * no request or no job to measure.
 */
export interface Measures extends JobMeasures {
  policy: string;
  requests: number;
  errors: number;
  prompt_tokens: number;
  output_tokens: number;
  hit_rate: number;
  hit_rate_local: number;
  hit_rate_global: number;
  hit_possible: number;
  recomputed: number;
  by_turn: TurnRow[];
  tps: number;
  tps_slo: number;
  tps_slo_20: number;
  prefill_tps: number;
  prefill_tps_slo: number;
  ttft_ms: Spread;
  tpot_ms: Spread;
  /** Of all requests, also those that nobody held. */
  hold_s: Spread;
  hold_longest_s: number;
  makespan_s: number;
  load_max_over_mean: number;
  load_cv: number;
  endpoint_tokens: number[];
  endpoints_per_session: number;
  migrations: number;
  preemptions: number;
  turn_accuracy: number | null;
  wrong_homes: number | null;
  decisions: Record<string, number>;
}

function spreadOf(values: readonly number[]): Spread {
  if (values.length === 0) return { mean: NaN, p50: NaN, p90: NaN, p95: NaN, p99: NaN };
  const sorted = Float64Array.from(values).sort() as unknown as number[];
  const at = (p: number): number => quantileSorted(sorted, p);
  return { mean: mean(sorted), p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) };
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? NaN : part / whole;
}

function total(records: readonly CallRecord[], value: (record: CallRecord) => number): number {
  let result = 0;
  for (const record of records) result += value(record);
  return result;
}

function groupBy<K>(
  records: readonly CallRecord[],
  key: (record: CallRecord) => K,
): Map<K, CallRecord[]> {
  const groups = new Map<K, CallRecord[]>();
  for (const record of records) {
    const group = groups.get(key(record));
    if (group === undefined) groups.set(key(record), [record]);
    else group.push(record);
  }
  return groups;
}

/** Time per output token after the first, in milliseconds; null for answers of one token. */
function tpotOf(record: CallRecord): number | null {
  if (record.outputTokens < 2) return null;
  return (record.endedMs - record.firstTokenMs) / (record.outputTokens - 1);
}

function meetsTtft(record: CallRecord): boolean {
  const ttft = record.firstTokenMs - record.startedMs;
  return ttft <= SLO_TTFT_MS + SLO_TTFT_PER_TOKEN_MS * record.promptTokens;
}

function meetsSlo(record: CallRecord, tpotMs: number): boolean {
  if (!meetsTtft(record)) return false;
  const tpot = tpotOf(record);
  return tpot === null || tpot <= tpotMs;
}

function turnRows(records: readonly CallRecord[]): TurnRow[] {
  const name = (turn: number): string =>
    turn > LAST_SINGLE_TURN ? `${LAST_SINGLE_TURN + 1}+` : String(turn);
  const sorted = [...records].sort((a, b) => a.turn - b.turn);
  return [...groupBy(sorted, (record) => name(record.turn))].map(([turn, rows]) => {
    const prompt = total(rows, (row) => row.promptTokens);
    return {
      turn,
      requests: rows.length,
      hit_rate: ratio(total(rows, cachedTokensOf), prompt),
      hit_possible: ratio(
        total(rows, (row) => row.possibleTokens),
        prompt,
      ),
    };
  });
}

function tokensOf(record: CallRecord): number {
  return record.promptTokens + record.outputTokens;
}

/** Coefficient of variation of the tokens done per endpoint, mean over windows of a minute. */
function loadVariation(run: ArmRun, records: readonly CallRecord[]): number {
  const windows = groupBy(records, (record) => Math.floor(record.endedMs / LOAD_WINDOW_MS));
  const variations: number[] = [];
  for (const rows of windows.values()) {
    const done = endpointTokens(run, rows);
    const average = mean(done);
    if (average > 0) variations.push(standardDeviation(done) / average);
  }
  return variations.length === 0 ? NaN : mean(variations);
}

function endpointTokens(run: ArmRun, records: readonly CallRecord[]): number[] {
  const done = new Array<number>(run.endpoints).fill(0);
  for (const record of records) done[record.endpoint]! += tokensOf(record);
  return done;
}

function migrationsOf(calls: readonly CallRecord[]): number {
  let moves = 0;
  for (let i = 1; i < calls.length; i++) {
    if (calls[i]!.endpoint !== calls[i - 1]!.endpoint) moves++;
  }
  return moves;
}

interface Job {
  tokens: number;
  jctMs: number;
  endMs: number;
  calls: CallRecord[];
}

function jobOf(calls: CallRecord[]): Job {
  const endMs = max(calls.map((call) => call.endedMs));
  return { tokens: total(calls, tokensOf), jctMs: endMs - calls[0]!.startedMs, endMs, calls };
}

/** From a user item to the end of the agent's turn: the calls up to the next one that the user starts. */
function turnJobsOf(calls: readonly CallRecord[]): number[] {
  const times: number[] = [];
  let from = 0;
  for (let i = 1; i <= calls.length; i++) {
    if (i < calls.length && calls[i]!.gap === "tool") continue;
    times.push(calls[i - 1]!.endedMs - calls[from]!.startedMs);
    from = i;
  }
  return times;
}

function meanBySize(jobs: readonly Job[]): number[] {
  const sorted = [...jobs].sort((a, b) => a.tokens - b.tokens);
  const quarter = sorted.length / 4;
  return [0, 1, 2, 3].map((index) => {
    const part = sorted.slice(Math.round(index * quarter), Math.round((index + 1) * quarter));
    return part.length === 0 ? NaN : mean(part.map((job) => job.jctMs / 1000));
  });
}

/** What is left of the time to the first token. */
function prefillMs(call: CallRecord): number {
  return call.firstTokenMs - call.startedMs - call.holdMs - call.queueMs - call.fetchMs;
}

function jobMeasures(run: ArmRun): JobMeasures {
  const finished = run.records.filter((record) => run.finishedSessions.has(record.session));
  const sessions = [...groupBy(finished, (record) => record.session).values()];
  const jobs = sessions.map(jobOf).filter((job) => job.endMs >= run.measureFromMs);
  const turnJobs = jobs.flatMap((job) => turnJobsOf(job.calls));
  const perJob = (value: (call: CallRecord) => number): number =>
    ratio(sum(jobs.map((job) => total(job.calls, value))), jobs.length) / 1000;
  return {
    jobs: jobs.length,
    unfinished_jobs: run.unfinishedSessions,
    jct_s: spreadOf(jobs.map((job) => job.jctMs / 1000)),
    jct_per_token_ms: jobs.length === 0 ? NaN : mean(jobs.map((job) => job.jctMs / job.tokens)),
    jct_by_size_s: meanBySize(jobs),
    jct_hold_s: perJob((call) => call.holdMs),
    jct_queue_s: perJob((call) => call.queueMs),
    jct_kv_s: perJob((call) => call.fetchMs),
    jct_prefill_s: perJob(prefillMs),
    jct_decode_s: perJob((call) => call.endedMs - call.firstTokenMs),
    jct_tool_s: perJob((call) => call.gapMs),
    turn_jobs: turnJobs.length,
    turn_jct_s: spreadOf(turnJobs.map((time) => time / 1000)),
  };
}

function turnAccuracy(records: readonly CallRecord[]): number | null {
  const seen = records.filter((record) => record.seenTurn !== null);
  if (seen.length === 0) return null;
  return seen.filter((record) => record.seenTurn === record.turn).length / seen.length;
}

/** Follow-ups that were said to go home and found less than half of what could be found. */
function wrongHomes(records: readonly CallRecord[]): number | null {
  if (records.every((record) => record.decision === null)) return null;
  return records.filter(
    (record) => record.decision === "home" && cachedTokensOf(record) < record.possibleTokens / 2,
  ).length;
}

/** Computes every measure of one arm. */
export function measure(run: ArmRun): Measures {
  const window = run.records.filter((record) => record.startedMs >= run.measureFromMs);
  const records = window.filter((record) => record.error === null);
  const seconds = Math.max(0.001, (run.endMs - run.measureFromMs) / 1000);
  const prompt = total(records, (record) => record.promptTokens);
  const cached = total(records, cachedTokensOf);
  const local = total(records, (record) => record.localTokens);
  const sloTokens = (tpotMs: number): number =>
    total(records, (record) => (meetsSlo(record, tpotMs) ? tokensOf(record) : 0));
  const sessions = groupBy(records, (record) => record.session);
  const perEndpoint = endpointTokens(run, records);
  const counted: Record<string, number> = {};
  for (const { decision } of records) {
    if (decision !== null) counted[decision] = (counted[decision] ?? 0) + 1;
  }
  return {
    policy: run.arm,
    requests: records.length,
    errors: window.length - records.length,
    prompt_tokens: prompt,
    output_tokens: total(records, (record) => record.outputTokens),
    hit_rate: ratio(cached, prompt),
    hit_rate_local: ratio(local, prompt),
    hit_rate_global: ratio(cached - local, prompt),
    hit_possible: ratio(
      total(records, (record) => record.possibleTokens),
      prompt,
    ),
    recomputed: ratio(
      total(records, (r) => Math.max(0, r.possibleTokens - cachedTokensOf(r))),
      prompt,
    ),
    by_turn: turnRows(records),
    tps: total(records, tokensOf) / seconds,
    tps_slo: sloTokens(SLO_TPOT_MS) / seconds,
    tps_slo_20: sloTokens(SLO_TPOT_STRICT_MS) / seconds,
    prefill_tps: prompt / seconds,
    prefill_tps_slo: total(records, (r) => (meetsTtft(r) ? r.promptTokens : 0)) / seconds,
    ttft_ms: spreadOf(records.map((record) => record.firstTokenMs - record.startedMs)),
    tpot_ms: spreadOf(records.map(tpotOf).filter((tpot) => tpot !== null)),
    hold_s: spreadOf(records.map((record) => record.holdMs / 1000)),
    hold_longest_s: records.length === 0 ? NaN : max(records.map(({ holdMs }) => holdMs)) / 1000,
    ...jobMeasures(run),
    makespan_s: records.length === 0 ? NaN : max(records.map((record) => record.endedMs)) / 1000,
    load_max_over_mean: ratio(max(perEndpoint), mean(perEndpoint)),
    load_cv: loadVariation(run, records),
    endpoint_tokens: perEndpoint,
    endpoints_per_session: ratio(
      sum([...sessions.values()].map((calls) => new Set(calls.map((call) => call.endpoint)).size)),
      sessions.size,
    ),
    migrations: sum([...sessions.values()].map(migrationsOf)),
    preemptions: total(records, (record) => record.preemptions),
    turn_accuracy: turnAccuracy(records),
    wrong_homes: wrongHomes(records),
    decisions: counted,
  };
}
