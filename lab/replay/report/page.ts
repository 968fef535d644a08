// SPDX-License-Identifier: Apache-2.0
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
// The report page's script: one chart a question, one column an arm.
import { Chart, type ChartDataset } from "chart.js";
import { canvasFor, COLORS, conditionsOf, fillNumbers, fillText, POSSIBLE_COLOR } from "./cards.ts";
import { measureRows } from "./rows.ts";
import type { ArmReport, Report } from "./report.ts";

const report = (window as unknown as { REPORT: Report }).REPORT;
const names = report.arms.map((arm) => arm.policy);

type Series = [name: string, value: (arm: ArmReport) => number, color?: string];

interface BarOptions {
  stacked?: boolean;
  logarithmic?: boolean;
  format?: (value: number) => string;
}

function bars(title: string, text: string, series: Series[], options: BarOptions = {}): void {
  const { stacked = false, logarithmic = false, format = String } = options;
  const datasets: ChartDataset<"bar", (number | null)[]>[] = series.map(
    ([label, value, color], index) => ({
      label,
      // Without a request there is nothing to show.
      data: report.arms.map((arm) => (arm.requests === 0 ? null : value(arm))),
      backgroundColor: color ?? COLORS[index % COLORS.length]!,
      borderRadius: 3,
    }),
  );
  const ticks = { callback: (value: number | string) => format(Number(value)) };
  const y = logarithmic
    ? { type: "logarithmic" as const, ticks }
    : { type: "linear" as const, stacked, ticks };
  new Chart(canvasFor(title, text), {
    type: "bar",
    data: { labels: names, datasets },
    options: {
      scales: { x: { stacked, grid: { display: false } }, y },
      plugins: { legend: { display: series.length > 1, labels: { boxWidth: 12 } } },
    },
  });
}

function turnLines(): void {
  const turns = report.arms[0]?.by_turn.map((row) => row.turn) ?? [];
  const pick = (arm: ArmReport, turn: string, possible: boolean): number | null => {
    const row = arm.by_turn.find((candidate) => candidate.turn === turn);
    return row === undefined ? null : possible ? row.hit_possible : row.hit_rate;
  };
  const datasets: ChartDataset<"line", (number | null)[]>[] = report.arms.map((arm, index) => ({
    label: arm.policy,
    data: turns.map((turn) => pick(arm, turn, false)),
    borderColor: COLORS[index % COLORS.length]!,
    backgroundColor: COLORS[index % COLORS.length]!,
    tension: 0.2,
  }));
  datasets.push({
    label: "possible",
    data: turns.map((turn) => pick(report.arms[0]!, turn, true)),
    borderColor: POSSIBLE_COLOR,
    borderDash: [5, 4],
    pointRadius: 0,
  });
  new Chart(canvasFor("Hit rate by turn", "dashed: one engine with an infinite cache"), {
    type: "line",
    data: { labels: turns, datasets },
    options: {
      scales: { y: { min: 0, max: 1, ticks: { callback: (value) => percent(Number(value)) } } },
      plugins: { legend: { labels: { boxWidth: 12 } } },
    },
  });
}

function percent(value: number): string {
  return `${Math.round(value * 100)} %`;
}

function thousands(value: number): string {
  return `${Math.round(value / 1000)} k`;
}

function drawCharts(): void {
  bars(
    "Tokens per second",
    "prompt and output tokens of finished requests, and those within the objective (TTFT and TPOT 50 ms)",
    [
      ["all", (arm) => arm.tps, "#94a3b8"],
      ["within the SLO", (arm) => arm.tps_slo, COLORS[0]],
    ],
    { format: thousands },
  );
  bars(
    "Where prompt tokens came from",
    "shares of all prompt tokens; recomputed: had been computed before, somewhere",
    [
      ["own cache", (arm) => arm.hit_rate_local],
      ["global tier", (arm) => arm.hit_rate_global, COLORS[2]],
      ["recomputed", (arm) => arm.recomputed, COLORS[1]],
      ["new", (arm) => 1 - arm.hit_rate - arm.recomputed, "#cbd5e1"],
    ],
    { stacked: true, format: percent },
  );
  turnLines();
  bars(
    "Time to first token",
    "seconds, logarithmic",
    [
      ["p50", (arm) => arm.ttft_ms.p50 / 1000],
      ["p90", (arm) => arm.ttft_ms.p90 / 1000, COLORS[2]],
      ["p99", (arm) => arm.ttft_ms.p99 / 1000, COLORS[1]],
    ],
    { logarithmic: true },
  );
  bars(
    "Where a job's time goes",
    "seconds of the calls of a whole session, without its tools and pauses, mean",
    [
      ["held", (arm) => arm.jct_hold_s, COLORS[3]],
      ["queue", (arm) => arm.jct_queue_s, COLORS[1]],
      ["fetching", (arm) => arm.jct_kv_s, COLORS[5]],
      ["prefill", (arm) => arm.jct_prefill_s, COLORS[2]],
      ["decode", (arm) => arm.jct_decode_s, COLORS[0]],
    ],
    { stacked: true },
  );
  bars("Load", "tokens done by the busiest endpoint over the mean", [
    ["max / mean", (arm) => arm.load_max_over_mean],
  ]);
}

const conditions = conditionsOf(report.config);
fillText(`Replay of ${String(report.config["trace"])}`, conditions, report.notes);
drawCharts();
fillNumbers(
  ["", ...names],
  measureRows(report.arms).map(([name, value]) => [name, ...report.arms.map(value)]),
);
