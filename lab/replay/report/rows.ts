// SPDX-License-Identifier: Apache-2.0
// The rows that tables show: names as in docs/measures.md, values as people read them.
import type { Measures, TurnRow } from "../measures/measures.ts";

const NOTHING = "-";

/** NaN, or `null` after a way through JSON: there was nothing to measure. */
function isNothing(value: number | null): boolean {
  return value === null || Number.isNaN(value);
}

function percent(fraction: number | null): string {
  if (fraction === null || isNothing(fraction)) return NOTHING;
  return `${(fraction * 100).toFixed(1)} %`;
}

function count(value: number): string {
  return Math.round(value).toLocaleString("en-US");
}

function seconds(value: number): string {
  return `${value.toFixed(value < 10 ? 2 : 1)} s`;
}

function times(milliseconds: readonly number[]): string {
  if (milliseconds.some(isNothing)) return NOTHING;
  return milliseconds.map((value) => seconds(value / 1000)).join(" / ");
}

function decimals(values: readonly number[], digits: number, unit = ""): string {
  if (values.some(isNothing)) return NOTHING;
  return `${values.map((value) => value.toFixed(digits)).join(" / ")}${unit}`;
}

/** Share of the possible hits that was hit. */
function shareOf({ requests, hit_rate, hit_possible }: Measures): number {
  return requests === 0 ? NaN : hit_rate / (hit_possible || 1);
}

/** A name and how to print it for one arm. */
export type Row = [name: string, value: (arm: Measures) => string];

const ROWS: Row[] = [
  ["requests (errors)", (arm) => `${count(arm.requests)} (${arm.errors})`],
  ["hit rate", (arm) => percent(arm.hit_rate)],
  ["  possible", (arm) => percent(arm.hit_possible)],
  ["  share of the possible", (arm) => percent(shareOf(arm))],
];

const LATER_ROWS: Row[] = [
  ["TTFT p50 / p90 / p99", ({ ttft_ms: t }) => times([t.p50, t.p90, t.p99])],
  ["TPOT p50 / p99", ({ tpot_ms: t }) => decimals([t.p50, t.p99], 1, " ms")],
  ["tokens/s", (arm) => count(arm.tps)],
  ["  within the SLO", (arm) => count(arm.tps_slo)],
  [
    "JCT mean / p95",
    ({ jct_s: t }) =>
      times([t.mean, t.p95].map((value) => (isNothing(value) ? NaN : value * 1000))),
  ],
  ["jobs (cut off)", (arm) => `${arm.jobs} (${arm.unfinished_jobs})`],
  ["load max / mean", (arm) => decimals([arm.load_max_over_mean], 2)],
  ["load CV", (arm) => decimals([arm.load_cv], 2)],
  ["endpoints per session", (arm) => decimals([arm.endpoints_per_session], 2)],
  ["turn accuracy", (arm) => percent(arm.turn_accuracy)],
];

function turnRow(arms: readonly Measures[], turn: string): Row {
  const find = (arm: Measures): TurnRow | undefined => arm.by_turn.find((row) => row.turn === turn);
  const possible = Math.max(...arms.map((arm) => find(arm)?.hit_possible ?? 0));
  const value = (arm: Measures): string => {
    const row = find(arm);
    return row === undefined ? NOTHING : percent(row.hit_rate);
  };
  return [`  turn ${turn} (possible ${percent(possible)})`, value];
}

/** All rows for these arms, hit rates by turn in their middle. */
export function measureRows(arms: readonly Measures[]): Row[] {
  const turns = [...new Set(arms.flatMap((arm) => arm.by_turn.map((row) => row.turn)))].sort();
  return [...ROWS, ...turns.map((turn) => turnRow(arms, turn)), ...LATER_ROWS];
}
