// SPDX-License-Identifier: Apache-2.0
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
// The script of a what-if's page: today's balancing and the filter over the load.
import { Chart, type ChartDataset } from "chart.js";
import type { Measures } from "../replay/measures/measures.ts";
import {
  canvasFor,
  COLORS,
  conditionsOf,
  fillNumbers,
  fillText,
  POSSIBLE_COLOR,
} from "../replay/report/cards.ts";
import type { ArmReport } from "../replay/report/report.ts";
import type { WhatIfReport } from "./html.ts";
import { loadHead, loadRows } from "./rows.ts";
import { percent } from "./words.ts";

const report = (window as unknown as { REPORT: WhatIfReport }).REPORT;
const { loads } = report;

type Value = (arm: Measures) => number;

interface Line {
  label: string;
  color: string;
  arm: (point: (typeof loads)[number]) => ArmReport;
  value: Value;
  dashed?: boolean;
}

function datasetOf({ label, color, arm, value, dashed }: Line): ChartDataset<"line", number[]> {
  return {
    label,
    data: loads.map((point) => value(arm(point))),
    borderColor: color,
    backgroundColor: color,
    borderDash: dashed === true ? [5, 4] : [],
    pointRadius: dashed === true ? 0 : 3,
    tension: 0.2,
  };
}

function lines(
  title: string,
  text: string,
  of: Line[],
  format: (value: number) => string,
  logarithmic: boolean,
): void {
  const ticks = { callback: (value: number | string) => format(Number(value)) };
  const y = logarithmic
    ? { type: "logarithmic" as const, ticks }
    : { type: "linear" as const, min: 0, max: 1, ticks };
  new Chart(canvasFor(title, text), {
    type: "line",
    data: { labels: loads.map(({ load }) => `x${load}`), datasets: of.map(datasetOf) },
    options: {
      scales: { x: { title: { display: true, text: "load, x1 is the log's" } }, y },
      plugins: { legend: { labels: { boxWidth: 12 } } },
    },
  });
}

const now = loads[0]!.now.policy;
const ours = loads[0]!.ours.policy;
const both = (value: Value, name: string, dashed = false): Line[] => [
  { label: `${now}${name}`, color: COLORS[1]!, arm: (point) => point.now, value, dashed },
  { label: `${ours}${name}`, color: COLORS[0]!, arm: (point) => point.ours, value, dashed },
];

lines(
  "Time to first token",
  "seconds, logarithmic; solid p99, dashed p50",
  [
    ...both((arm) => arm.ttft_ms.p99 / 1000, ", p99"),
    ...both((arm) => arm.ttft_ms.p50 / 1000, ", p50", true),
  ],
  (value) => `${value} s`,
  true,
);
lines(
  "Prompt tokens found in a cache",
  "share of all prompt tokens; dashed: what one engine with an infinite cache would find",
  [
    ...both((arm) => arm.hit_rate, ""),
    {
      label: "possible",
      color: POSSIBLE_COLOR,
      arm: (point) => point.ours,
      value: (arm) => arm.hit_possible,
      dashed: true,
    },
  ],
  percent,
  false,
);

// Step costs are an object, and nothing to read.
const settings = Object.entries(report.config).filter(([, value]) => typeof value !== "object");
const conditions = conditionsOf(Object.fromEntries(settings));
fillText(`What if the filter routed ${String(report.config["log"])}`, conditions, report.answer);
fillNumbers(loadHead(loads), loadRows(loads));
