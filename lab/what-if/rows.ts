// SPDX-License-Identifier: Apache-2.0
// The figures of a what-if load by load, today's balancing above the filter, as cells of text.
import type { Measures } from "../replay/measures/measures.ts";
import type { LoadPoint } from "./study.ts";
import { count, percent, seconds, times } from "./words.ts";

type Row = [name: string, value: (arm: Measures) => string];

const ROWS: Row[] = [
  ["hit rate", (arm) => percent(arm.hit_rate)],
  ["computed again", (arm) => percent(arm.recomputed)],
  ["TTFT p50", (arm) => seconds(arm.ttft_ms.p50)],
  ["TTFT p99", (arm) => seconds(arm.ttft_ms.p99)],
  ["tokens/s within the SLO", (arm) => count(arm.tps_slo)],
];

/** Rows of a table: a name, an arm, and one cell a load. */
export function loadRows(points: readonly LoadPoint[]): string[][] {
  const [now, ours] = [points[0]!.now.policy, points[0]!.ours.policy];
  const rows = ROWS.flatMap(([name, value]) => [
    [name, now, ...points.map((point) => value(point.now))],
    ["", ours, ...points.map((point) => value(point.ours))],
  ]);
  const jobs = (of: (point: LoadPoint) => number): string[] =>
    points.map((point) => seconds(of(point) * 1000));
  return [
    ...rows,
    ["JCT of the same jobs", now, ...jobs(({ same_jobs }) => same_jobs.now_s)],
    ["", ours, ...jobs(({ same_jobs }) => same_jobs.ours_s)],
  ];
}

export function loadHead(points: readonly LoadPoint[]): string[] {
  return ["load", "", ...points.map(({ load }) => times(load))];
}
