// SPDX-License-Identifier: Apache-2.0
// What the runs of the routing study come to: shares of the best, gains over each arm, spread over seeds.
import { mean, median } from "simple-statistics";
import type { Results, RunMeasures, RunSpec, Size } from "../study.ts";
import {
  type Cell,
  OURS,
  SEEDS,
  SIDE_CELLS,
  specAt,
  specOf,
  TIERS_GBPS,
  tierSpec,
  UNLIMITED_GBPS,
} from "./regimes.ts";
import { bestArms, type Grid, gridOf, peakOf, topLoads } from "./runs.ts";

/** One arm of a cell. */
export interface ArmPeak {
  arm: string;
  /** Peak goodput over the loads, mean over the seeds that all arms ran on. */
  peak: number;
  /** Share of the cell's best. */
  of_best: number;
}

/** The best arms of a cell, on all seeds and at its highest loads. */
export interface Contest {
  arm: string;
  peak: number;
  of_best: number;
  /** Gain of the default policy over this arm: mean over seeds, and the seeds' lowest and highest. */
  gain: number;
  least_gain: number;
  most_gain: number;
}

export interface CellFigures {
  cell: string;
  title: string;
  disaggregated: boolean;
  loads_per_s: number[];
  best: number;
  arms: ArmPeak[];
  contest: Contest[];
  /** Of the default policy at the lowest load: hits over possible hits. */
  reuse: number;
  /** The same arms at the knee alone, where it is one of the loads. */
  knee: ArmPeak[];
  /** The same arms at the highest load alone. */
  beyond: ArmPeak[];
}

/** What the default policy gains over one arm, over cells. */
export interface GainFigures {
  arm: string;
  median: number;
  most: number;
  least: number;
}

/** One arm at one load in detail. */
export interface DetailFigures {
  cell: string;
  arm: string;
  measures: RunMeasures;
}

export interface TierFigures {
  gbps: number;
  goodput: number;
  of_unlimited: number;
}

export interface RoutingFigures {
  cells: CellFigures[];
  /** At each arm's peak. */
  colocated_gains: GainFigures[];
  /** With all arms at the knee. */
  knee_gains: GainFigures[];
  prefill_gains: GainFigures[];
  details: DetailFigures[];
  beside: { cell: string; title: string; arms: DetailFigures[] }[];
  tiers: TierFigures[];
  /** Smallest bandwidth within 2 % of an unlimited tier; null where nothing was run. */
  enough_gbps: number | null;
}

const ENOUGH = 0.98;

function need(done: Results, spec: RunSpec): RunMeasures {
  const measures = done.get(spec);
  if (measures === undefined) throw new Error(`no run of ${spec.cell}, ${spec.arm}`);
  return measures;
}

function contestOf(grid: Grid, cell: Cell, done: Results): Contest[] {
  const seeds = [...grid.seeds, ...grid.moreSeeds];
  const loads = topLoads(grid);
  const peak = (arm: string, of: readonly number[]): number =>
    peakOf(cell, arm, loads, of, done) ?? NaN;
  const arms = bestArms(grid, cell, done);
  const best = Math.max(...arms.map((arm) => peak(arm, seeds)));
  const ours = peak(OURS, seeds);
  return arms.map((arm) => {
    const gains = seeds.map((seed) => peak(OURS, [seed]) / peak(arm, [seed]) - 1);
    return {
      arm,
      peak: peak(arm, seeds),
      of_best: peak(arm, seeds) / best,
      gain: ours / peak(arm, seeds) - 1,
      least_gain: Math.min(...gains),
      most_gain: Math.max(...gains),
    };
  });
}

function reuseOf(grid: Grid, cell: Cell, done: Results): number {
  const shares = grid.seeds.map((seed) => {
    const measures = need(done, specOf(cell, OURS, grid.loads[0]!, seed));
    return measures.hit_rate / measures.hit_possible;
  });
  return mean(shares);
}

/** Every arm at its best among some loads. */
function peaksAt(grid: Grid, cell: Cell, loads: readonly number[], done: Results): ArmPeak[] {
  const peaks = grid.arms.map((arm) => peakOf(cell, arm, loads, grid.seeds, done) ?? NaN);
  const best = Math.max(...peaks);
  return grid.arms.map((arm, index) => {
    const peak = peaks[index]!;
    return { arm, peak, of_best: best === 0 ? NaN : peak / best };
  });
}

/** The share of the knee that stands for it: 1 where the grid has it. */
function kneeOf({ loads }: Grid): number {
  return loads.includes(1) ? 1 : loads[0]!;
}

function cellFigures(grid: Grid, cell: Cell, done: Results): CellFigures {
  const arms = peaksAt(grid, cell, grid.loads, done);
  return {
    cell: cell.name,
    title: cell.title,
    disaggregated: cell.fleet.decodeEndpoints > 0,
    loads_per_s: grid.loads.map((load) => Number((cell.kneePerS * load).toPrecision(3))),
    best: Math.max(...arms.map((each) => each.peak)),
    arms,
    contest: contestOf(grid, cell, done),
    reuse: reuseOf(grid, cell, done),
    knee: peaksAt(grid, cell, [kneeOf(grid)], done),
    beyond: peaksAt(grid, cell, grid.loads.slice(-1), done),
  };
}

function gainsOver(
  arms: readonly string[],
  cells: readonly CellFigures[],
  of: "arms" | "knee" = "arms",
): GainFigures[] {
  if (cells.length === 0) return [];
  const peakIn = (cell: CellFigures, arm: string): number =>
    cell[of].find((each) => each.arm === arm)!.peak;
  return arms
    .filter((arm) => arm !== OURS)
    .map((arm) => {
      const gains = cells.map((cell) => peakIn(cell, OURS) / peakIn(cell, arm) - 1);
      return {
        arm,
        median: median(gains),
        most: Math.max(...gains),
        least: Math.min(...gains),
      };
    });
}

/** The knee, one seed: the default policy and every other arm. */
function detailsOf(grid: Grid, done: Results): DetailFigures[] {
  const load = kneeOf(grid);
  return grid.cells.flatMap((cell) =>
    grid.arms.map((arm) => ({
      cell: cell.name,
      arm,
      measures: need(done, specOf(cell, arm, load, SEEDS[0]!)),
    })),
  );
}

function besideOf(done: Results): RoutingFigures["beside"] {
  return SIDE_CELLS.map(({ cell, load, arms }) => ({
    cell: cell.name,
    title: cell.title,
    arms: arms.map((arm) => ({
      cell: cell.name,
      arm,
      measures: need(done, specAt(cell, arm, load, SEEDS[0]!)),
    })),
  }));
}

function tiersOf(done: Results): TierFigures[] {
  const goodput = (gbps: number): number => need(done, tierSpec(gbps)).tps_slo;
  const unlimited = goodput(UNLIMITED_GBPS);
  return TIERS_GBPS.map((gbps) => ({
    gbps,
    goodput: goodput(gbps),
    of_unlimited: goodput(gbps) / unlimited,
  }));
}

/** Everything that text, tables and charts are written from. */
export function routingFigures(size: Size, done: Results): RoutingFigures {
  const grid = gridOf(size);
  const cells = grid.cells.map((cell) => cellFigures(grid, cell, done));
  const tiers = size === "quick" ? [] : tiersOf(done);
  const colocated = cells.filter((cell) => !cell.disaggregated);
  const prefill = cells.filter((cell) => cell.disaggregated);
  return {
    cells,
    colocated_gains: gainsOver(grid.arms, colocated),
    knee_gains: gainsOver(grid.arms, colocated, "knee"),
    prefill_gains: gainsOver(grid.arms, prefill),
    details: detailsOf(grid, done),
    beside: size === "quick" ? [] : besideOf(done),
    tiers,
    enough_gbps: tiers.find((tier) => tier.of_unlimited >= ENOUGH)?.gbps ?? null,
  };
}
