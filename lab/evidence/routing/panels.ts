// SPDX-License-Identifier: Apache-2.0
// Charts of the routing study.
import type { Panel } from "../study.ts";
import type { RoutingFigures } from "./analysis.ts";
import { OURS } from "./regimes.ts";
import { gbpsText } from "./tables.ts";

/** Arms that charts show one by one: more would be a carpet. */
const SHOWN = [OURS, "linear:0.7", "cache-first", "lmetric", "session-hash", "least-request"];

function shownOf(figures: RoutingFigures): string[] {
  const ran = figures.cells[0]!.arms.map((each) => each.arm);
  return SHOWN.filter((arm) => ran.includes(arm));
}

function peakPanel(figures: RoutingFigures): Panel {
  return {
    title: "Peak goodput by cell",
    text: "tokens/s within the objective at each arm's best load, share of the cell's best arm",
    kind: "bar",
    labels: figures.cells.map((cell) => cell.cell),
    series: shownOf(figures).map((arm) => ({
      name: arm,
      values: figures.cells.map((cell) => cell.arms.find((each) => each.arm === arm)!.of_best),
    })),
    unit: "percent",
    range: [0, 1],
  };
}

function leastPanel(figures: RoutingFigures): Panel {
  const arms = figures.cells[0]!.arms.map((each) => each.arm);
  const least = (arm: string): number =>
    Math.min(...figures.cells.map((cell) => cell.arms.find((each) => each.arm === arm)!.of_best));
  const sorted = [...arms].sort((a, b) => least(b) - least(a));
  return {
    title: "Each arm's worst cell",
    text: "the lowest of its shares of the best over all cells: what it costs to choose one arm for good",
    kind: "bar",
    labels: sorted,
    series: [{ name: "least share of the best", values: sorted.map(least) }],
    unit: "percent",
    range: [0, 1],
  };
}

function gainPanel(figures: RoutingFigures): Panel {
  const cap = (gain: number): number => Math.min(1, gain);
  return {
    title: `What ${OURS} gains over each arm`,
    text: "colocated cells, at each one's peak; bars end at 100 %",
    kind: "bar",
    labels: figures.colocated_gains.map((gain) => gain.arm),
    series: [
      { name: "median", values: figures.colocated_gains.map((gain) => cap(gain.median)) },
      { name: "largest", values: figures.colocated_gains.map((gain) => cap(gain.most)) },
    ],
    unit: "percent",
  };
}

function ttftPanel(figures: RoutingFigures, cell: string): Panel {
  const shown = shownOf(figures);
  const ofArm = (arm: string) =>
    figures.details.find((each) => each.cell === cell && each.arm === arm)!.measures;
  const title = figures.cells.find((each) => each.cell === cell)!.title;
  return {
    title: `Time to first token, ${cell}`,
    text: `seconds at the knee, logarithmic; ${title}`,
    kind: "bar",
    labels: shown,
    series: [
      { name: "p50", values: shown.map((arm) => ofArm(arm).ttft_ms.p50 / 1000) },
      { name: "p99", values: shown.map((arm) => ofArm(arm).ttft_ms.p99 / 1000) },
    ],
    unit: "number",
    logarithmic: true,
  };
}

function tierPanel(figures: RoutingFigures): Panel {
  return {
    title: "How much tier is enough",
    text: `${OURS}, contexts twice the caches: share of what an unlimited tier gives`,
    kind: "line",
    labels: figures.tiers.map((tier) => gbpsText(tier.gbps)),
    series: [{ name: OURS, values: figures.tiers.map((tier) => tier.of_unlimited) }],
    unit: "percent",
    range: [0, 1.05],
  };
}

export function routingPanels(figures: RoutingFigures): Panel[] {
  const panels = [peakPanel(figures), leastPanel(figures), gainPanel(figures)];
  for (const cell of ["n07", "d07", "pn14"]) panels.push(ttftPanel(figures, cell));
  if (figures.tiers.length > 0) panels.push(tierPanel(figures));
  return panels;
}
