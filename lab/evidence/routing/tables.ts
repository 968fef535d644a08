// SPDX-License-Identifier: Apache-2.0
// Tables of the routing study, as people read them.
import type { TextTable } from "../study.ts";
import type {
  ArmPeak,
  CellFigures,
  DetailFigures,
  GainFigures,
  RoutingFigures,
} from "./analysis.ts";
import { OURS, UNLIMITED_GBPS } from "./regimes.ts";

/** Gains beyond this say only that the other arm serves nothing within the objective. */
const MOST_GAIN = 10;

export function percent(share: number, digits = 0): string {
  return (share * 100).toFixed(digits);
}

export function signed(gain: number): string {
  if (!(gain < MOST_GAIN)) return "useless";
  return `${gain < 0 ? "-" : "+"}${Math.abs(gain * 100).toFixed(1)} %`;
}

export function thousands(value: number): string {
  return `${Math.round(value / 1000)} k`;
}

function shareTable(
  title: string,
  cells: readonly CellFigures[],
  armsOf: (cell: CellFigures) => readonly ArmPeak[],
): TextTable {
  const arms = armsOf(cells[0]!).map((each) => each.arm);
  const rows = arms.map((arm) => {
    const shares = cells.map((cell) => armsOf(cell).find((each) => each.arm === arm)!.of_best);
    return [arm, ...shares.map((share) => percent(share)), percent(Math.min(...shares))];
  });
  const bests = cells.map((cell) => Math.max(...armsOf(cell).map((each) => each.peak)));
  return {
    title,
    head: ["arm", ...cells.map((cell) => cell.cell), "least"],
    rows: [["best, tokens/s", ...bests.map(thousands), ""], ...rows],
  };
}

/** Share of the best in every cell. */
export function peakTable({ cells }: RoutingFigures): TextTable {
  return shareTable("Peak goodput, % of the cell's best", cells, (cell) => cell.arms);
}

/** The same at the highest load. */
export function beyondTable({ cells }: RoutingFigures): TextTable {
  return shareTable("Beyond the knee, % of the best there", cells, (cell) => cell.beyond);
}

/** The best arms of each cell on all seeds. */
export function contestTable({ cells }: RoutingFigures): TextTable {
  const rows = cells.flatMap((cell) =>
    cell.contest.map((each) => [
      cell.cell,
      each.arm,
      thousands(each.peak),
      percent(each.of_best, 1),
      each.arm === OURS ? "" : signed(each.gain),
      each.arm === OURS ? "" : `${signed(each.least_gain)} .. ${signed(each.most_gain)}`,
    ]),
  );
  return {
    title: "The best arms on all seeds",
    head: ["cell", "arm", "peak", "% of best", `${OURS} gains`, "over the seeds"],
    rows,
  };
}

export function gainTable(figures: RoutingFigures): TextTable {
  const prefill = new Map(figures.prefill_gains.map((gain) => [gain.arm, gain]));
  const knee = new Map(figures.knee_gains.map((gain) => [gain.arm, gain]));
  const cellsOf = (gain: GainFigures | undefined): string[] =>
    gain === undefined
      ? ["-", "-", "-"]
      : [gain.median, gain.most, gain.least].map((value) => signed(value));
  return {
    title: `What ${OURS} gains over each arm at each one's peak`,
    head: [
      ...["arm", "colocated: median", "largest", "smallest"],
      ...["at the knee: median", "largest", "smallest"],
      ...["prefill pool: median", "largest", "smallest"],
    ],
    rows: figures.colocated_gains.map((gain) => [
      gain.arm,
      ...cellsOf(gain),
      ...cellsOf(knee.get(gain.arm)),
      ...cellsOf(prefill.get(gain.arm)),
    ]),
  };
}

function decimals(value: number | null, digits: number): string {
  return value === null || Number.isNaN(value) ? "-" : value.toFixed(digits);
}

/** Moves per hundred requests. */
function movesOf({ measures: { migrations, requests } }: DetailFigures): number {
  return (100 * migrations) / Math.max(1, requests);
}

export function detailTable(title: string, details: readonly DetailFigures[]): TextTable {
  return {
    title,
    head: [
      ...["cell", "arm", "k tokens/s", "TTFT p50 / p99 s", "TPOT p50 / p99 ms"],
      ...["JCT mean / p95 s", "load CV", "max / mean", "own / tier / again %", "moves per 100"],
    ],
    rows: details.map((detail) => {
      const { cell, arm, measures: m } = detail;
      const seconds = (ms: number): string => decimals(ms === null ? null : ms / 1000, 2);
      return [
        cell,
        arm,
        decimals(m.tps_slo / 1000, 0),
        `${seconds(m.ttft_ms.p50)} / ${seconds(m.ttft_ms.p99)}`,
        `${decimals(m.tpot_ms.p50, 0)} / ${decimals(m.tpot_ms.p99, 0)}`,
        `${decimals(m.jct_s.mean, 0)} / ${decimals(m.jct_s.p95, 0)}`,
        decimals(m.load_cv, 2),
        decimals(m.load_max_over_mean, 2),
        [m.hit_rate_local, m.hit_rate_global, m.recomputed].map((s) => percent(s)).join(" / "),
        decimals(movesOf(detail), 1),
      ];
    }),
  };
}

export function gbpsText(gbps: number): string {
  return gbps === UNLIMITED_GBPS ? "unlimited" : String(gbps);
}

export function tierTable({ tiers }: RoutingFigures): TextTable {
  return {
    title: "How much tier is enough",
    head: ["GB/s for the fleet", "tokens/s within the SLO", "% of unlimited"],
    rows: tiers.map((tier) => [
      gbpsText(tier.gbps),
      thousands(tier.goodput),
      percent(tier.of_unlimited, 1),
    ]),
  };
}
