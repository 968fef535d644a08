// SPDX-License-Identifier: Apache-2.0
// Finds the knee of each cell by one rule, on seeds that the study never reports: the loads of the study follow from it.
import { mean } from "simple-statistics";
import { markdownTable } from "../markdown.ts";
import type { Findings, Results, RunSpec, Size, Study } from "../study.ts";
import { type Cell, goodputOf, OURS, specAt } from "./regimes.ts";
import { gridOf } from "./runs.ts";

/** Never among the seeds of the study. */
export const PILOT_SEEDS: readonly number[] = [1, 2, 3, 4, 5, 6];
/** The default policy, and one that knows nothing of prices. */
export const PILOT_ARMS: readonly string[] = [OURS, "linear:0.7"];

/** Rates of the search: each a tenth above the one before. */
const LOWEST_PER_S = 0.1;
const RATIO = 1.1;
/** The way up takes so many rates at a time, until goodput has fallen to this share of the best so far. */
const STRIDE = 4;
const FALLEN = 0.9;
const MOST_STEPS = 40;
/** What a search comes to, about: only for what is said beforehand. */
const USUAL_RATES = 4;
const USUAL_STRIDES = 5;

function rateAt(step: number): number {
  return Number((LOWEST_PER_S * RATIO ** step).toPrecision(2));
}

/** What one cell's search has come to: its knee, or the runs that it needs next. */
export interface Search {
  kneePerS: number | null;
  /** Goodput of the better arm there, mean over the seeds. */
  goodput: number;
  runs: RunSpec[];
}

class Climb {
  readonly runs: RunSpec[] = [];
  private isMissing = false;

  constructor(
    private readonly cell: Cell,
    private readonly done: Results,
  ) {}

  /** Goodput of the better of some arms at a rate, mean over seeds; null while runs are missing. */
  private best(step: number, arms: readonly string[], seeds: readonly number[]): number | null {
    const goodputs = arms.map((arm) => {
      const each = seeds.map((seed) => this.goodput(step, arm, seed));
      return mean(each);
    });
    return this.isMissing ? null : Math.max(...goodputs);
  }

  private goodput(step: number, arm: string, seed: number): number {
    const spec = specAt(this.cell, arm, { ratePerS: rateAt(step) }, seed);
    this.runs.push(spec);
    const measures = this.done.get(spec);
    if (measures === undefined) this.isMissing = true;
    return measures === undefined ? 0 : goodputOf(this.cell, measures);
  }

  /** With the default policy on one seed, from the lowest rate on. */
  private strideUp(): number | null {
    let most = 0;
    let top = 0;
    for (let step = 0; step <= MOST_STEPS; step += STRIDE) {
      const goodput = this.best(step, [OURS], PILOT_SEEDS.slice(0, 1));
      if (goodput === null) return null;
      if (goodput < FALLEN * most) return top;
      if (goodput > most) top = step;
      most = Math.max(most, goodput);
    }
    return top;
  }

  /** With all arms and seeds, to the rate whose neighbours are both worse. */
  search(): Search {
    let at = this.strideUp();
    while (at !== null && at > 0 && at < MOST_STEPS) {
      const around = [at - 1, at, at + 1];
      const goodputs = around.map((step) => this.best(step, PILOT_ARMS, PILOT_SEEDS));
      if (this.isMissing) break;
      const most = Math.max(...goodputs.map((goodput) => goodput ?? 0));
      const next = around[goodputs.indexOf(most)]!;
      if (next === at) return { kneePerS: rateAt(at), goodput: most, runs: this.runs };
      at = next;
    }
    return { kneePerS: null, goodput: 0, runs: this.runs };
  }
}

/** The rate at which the better of the pilot arms does most, mean over the pilot seeds. */
export function searchKnee(cell: Cell, done: Results): Search {
  return new Climb(cell, done).search();
}

/** `evidence --knees`: no study of its own, but where the loads of the routing study come from. */
export const kneeStudy: Study = {
  name: "knees",
  title: "Knees of the routing study's cells",
  secondsPerRun: 5,
  mostRuns(size: Size): number {
    const fine = USUAL_RATES * PILOT_ARMS.length * PILOT_SEEDS.length;
    return gridOf(size).cells.length * (USUAL_STRIDES + fine);
  },
  runs: (size, done) => gridOf(size).cells.flatMap((cell) => searchKnee(cell, done).runs),
  findings(size, done): Findings {
    const found = gridOf(size).cells.map((cell) => ({ cell, ...searchKnee(cell, done) }));
    const table = {
      title: "Knees",
      head: ["cell", "found, sessions/s", "in the study, sessions/s", "k tokens/s there"],
      rows: found.map(({ cell, kneePerS, goodput }) => [
        cell.name,
        String(kneePerS ?? "-"),
        String(cell.kneePerS),
        String(Math.round(goodput / 1000)),
      ]),
    };
    const figures = found.map(({ cell, kneePerS }) => ({ cell: cell.name, knee_per_s: kneePerS }));
    return { markdown: markdownTable(table), panels: [], tables: [table], figures };
  },
};
