// SPDX-License-Identifier: Apache-2.0
/// <reference lib="dom" />
// The script of the page of shapes: one chart a law, curves over what is varied.
import { Chart, type ChartDataset } from "chart.js";
import { canvasFor, COLORS, fillText, POSSIBLE_COLOR } from "../report/cards.ts";
import type { Curve, Shapes } from "./runs.ts";

const shapes = (window as unknown as { REPORT: Shapes }).REPORT;

type Line = [name: string, curve: Curve, color: string, dashed?: boolean];

interface Axes {
  x: string;
  y: string;
  logarithmic?: boolean;
  format?: (value: number) => string;
}

function lines(title: string, text: string, axes: Axes, curves: Line[]): void {
  const format = axes.format ?? String;
  const datasets: ChartDataset<"line", Curve>[] = curves.map(([label, data, color, dashed]) => ({
    label,
    data,
    borderColor: color,
    backgroundColor: color,
    borderDash: dashed ? [5, 4] : [],
    pointRadius: dashed ? 0 : 3,
  }));
  const ticks = { callback: (value: number | string) => format(Number(value)) };
  const name = { display: true, text: axes.y };
  const y = axes.logarithmic
    ? { type: "logarithmic" as const, title: name, ticks }
    : { type: "linear" as const, min: 0, title: name, ticks };
  new Chart(canvasFor(title, text), {
    type: "line",
    data: { datasets },
    options: {
      scales: { x: { type: "linear", min: 0, title: { display: true, text: axes.x } }, y },
      plugins: { legend: { display: curves.length > 1, labels: { boxWidth: 12 } } },
    },
  });
}

function percent(value: number): string {
  return `${Math.round(value * 100)} %`;
}

function thousands(value: number): string {
  return `${Math.round(value / 1000)} k`;
}

const HIT_AXIS = { y: "hit rate", format: percent };

fillText(
  "Shapes of the mock GPU",
  "preset 8b-h100, blocks of 64 tokens; runs of the engine model in virtual time",
  [],
);
lines(
  "Throughput against load",
  "cold prompts of 4,096 tokens, 128 out: follows what is asked for up to the knee, and stays there",
  { x: "requests per second", y: "tokens per second", format: thousands },
  [
    ["asked for", shapes.offered, POSSIBLE_COLOR, true],
    ["done", shapes.throughput, COLORS[0]!],
  ],
);
lines(
  "Time to first token against load",
  "the same runs, mean, logarithmic: flat below the knee, a queue that grows beyond it",
  { x: "requests per second", y: "seconds", logarithmic: true },
  [["TTFT", shapes.ttft, COLORS[1]!]],
);
lines(
  "LRU hits against capacity",
  "ten sessions in turn on one GPU: nothing while each throws out the next, everything once all fit",
  { x: "KV tokens", ...HIT_AXIS },
  [["hit rate", shapes.lruHits, COLORS[2]!]],
);
lines(
  "Round robin against perfect affinity",
  "17 sessions of 12 turns, memory for all: round robin looks for each turn where the last one is not",
  { x: "endpoints", ...HIT_AXIS },
  [
    ["perfect affinity", shapes.affinityHits, COLORS[0]!],
    ["round robin", shapes.roundRobinHits, COLORS[1]!],
  ],
);
