// SPDX-License-Identifier: Apache-2.0
// Which runs the routing study asks for: a grid on one seed, then its best arms on more seeds, and what is beside it.
import type { Results, RunSpec, Size } from "../study.ts";
import {
  ARMS,
  type Cell,
  CELLS,
  FULL_ARMS,
  FULL_CELLS,
  FULL_LOADS,
  goodputOf,
  LOADS,
  OURS,
  QUICK_ARMS,
  QUICK_LOADS,
  SEEDS,
  SIDE_CELLS,
  specAt,
  specOf,
  TIERS_GBPS,
  tierSpec,
} from "./regimes.ts";

/** The grid of a size. */
export interface Grid {
  cells: readonly Cell[];
  arms: readonly string[];
  /** Shares of the knee. */
  loads: readonly number[];
  /** Seeds on which every arm runs. */
  seeds: readonly number[];
  /** Seeds on which the best arms of a cell run as well. */
  moreSeeds: readonly number[];
}

/** Arms of each cell that run on more seeds, the default policy among them. */
const BEST = 3;
/** Loads on which they do: the highest. */
const TOP_LOADS = 2;

export function gridOf(size: Size): Grid {
  const [first, ...others] = SEEDS;
  switch (size) {
    case "quick":
      return quickGrid(first!);
    case "default":
      return { cells: CELLS, arms: ARMS, loads: LOADS, seeds: [first!], moreSeeds: others };
    case "full":
      return {
        cells: FULL_CELLS,
        arms: FULL_ARMS,
        loads: FULL_LOADS,
        seeds: SEEDS,
        moreSeeds: [],
      };
  }
}

function quickGrid(seed: number): Grid {
  return { cells: CELLS, arms: QUICK_ARMS, loads: QUICK_LOADS, seeds: [seed], moreSeeds: [] };
}

/** The loads of a grid on which the best arms run on more seeds. */
export function topLoads({ loads }: Grid): readonly number[] {
  return loads.slice(-TOP_LOADS);
}

/** Mean goodput of an arm over seeds at a load; null where a run is missing. */
export function meanGoodput(
  cell: Cell,
  arm: string,
  load: number,
  seeds: readonly number[],
  done: Results,
): number | null {
  let sum = 0;
  for (const seed of seeds) {
    const measures = done.get(specOf(cell, arm, load, seed));
    if (measures === undefined) return null;
    sum += goodputOf(cell, measures);
  }
  return sum / seeds.length;
}

/** Largest mean goodput over loads: the peak; null where a run is missing. */
export function peakOf(
  cell: Cell,
  arm: string,
  loads: readonly number[],
  seeds: readonly number[],
  done: Results,
): number | null {
  let peak = 0;
  for (const load of loads) {
    const value = meanGoodput(cell, arm, load, seeds, done);
    if (value === null) return null;
    peak = Math.max(peak, value);
  }
  return peak;
}

/** The default policy and the best others of a cell by their peak on the first seeds; empty while runs are missing. */
export function bestArms(grid: Grid, cell: Cell, done: Results): string[] {
  const peaks = new Map<string, number>();
  for (const arm of grid.arms) {
    const peak = peakOf(cell, arm, grid.loads, grid.seeds, done);
    if (peak === null) return [];
    peaks.set(arm, peak);
  }
  const others = grid.arms.filter((arm) => arm !== OURS);
  others.sort((a, b) => peaks.get(b)! - peaks.get(a)!);
  return [OURS, ...others.slice(0, BEST - 1)];
}

function gridRuns(grid: Grid): RunSpec[] {
  return grid.cells.flatMap((cell) =>
    grid.loads.flatMap((load) =>
      grid.arms.flatMap((arm) => grid.seeds.map((seed) => specOf(cell, arm, load, seed))),
    ),
  );
}

function bestRuns(grid: Grid, done: Results): RunSpec[] {
  return grid.cells.flatMap((cell) =>
    bestArms(grid, cell, done).flatMap((arm) =>
      topLoads(grid).flatMap((load) => grid.moreSeeds.map((seed) => specOf(cell, arm, load, seed))),
    ),
  );
}

function sideRuns(): RunSpec[] {
  return SIDE_CELLS.flatMap(({ cell, load, arms }) =>
    arms.map((arm) => specAt(cell, arm, load, SEEDS[0]!)),
  );
}

function tierRuns(): RunSpec[] {
  return TIERS_GBPS.map(tierSpec);
}

export function routingRuns(size: Size, done: Results): RunSpec[] {
  const grid = gridOf(size);
  const beside = size === "quick" ? [] : [...sideRuns(), ...tierRuns()];
  return [...gridRuns(grid), ...beside, ...bestRuns(grid, done)];
}

export function mostRoutingRuns(size: Size): number {
  const { cells, arms, loads, seeds, moreSeeds } = gridOf(size);
  const best = cells.length * BEST * TOP_LOADS * moreSeeds.length;
  const beside = size === "quick" ? 0 : sideRuns().length + tierRuns().length;
  return cells.length * arms.length * loads.length * seeds.length + best + beside;
}
