// SPDX-License-Identifier: Apache-2.0
// What a search looks for, and how much better than the default a run is by it.
import { mean } from "simple-statistics";
import { type Played, sameJobs } from "../study.ts";

/** Ratio of two runs of one plan, above 1 where the first is better. */
type Ratio = (mine: Played, reference: Played) => number;

function over(part: number, whole: number): number {
  if (whole === 0) return part === 0 ? 1 : Infinity;
  return part / whole;
}

const OBJECTIVES = {
  /** Tokens per second within the objective on latency. */
  tokens: (mine, reference) => over(mine.measures.tps_slo, reference.measures.tps_slo),
  /** The slowest time to the first token of a hundred. */
  ttft: (mine, reference) => over(reference.measures.ttft_ms.p99, mine.measures.ttft_ms.p99),
  /** Mean completion time of the sessions that both finished. */
  jct: (mine, reference) => {
    const { jobs, now_s, ours_s } = sameJobs([reference], [mine]);
    return jobs === 0 ? 1 : over(now_s, ours_s);
  },
} satisfies Record<string, Ratio>;

export type Objective = keyof typeof OBJECTIVES;

export const OBJECTIVE_NAMES = Object.keys(OBJECTIVES) as Objective[];

/** How objectives are called in sentences. */
export const OBJECTIVE_WORDS: Record<Objective, string> = {
  tokens: "tokens/s within the SLO",
  ttft: "shorter p99 time to the first token",
  jct: "shorter mean job completion time",
};

/** Gains of one configuration over the default, seed by seed, as fractions. */
export interface Gain {
  mean: number;
  least: number;
  most: number;
}

export function gainOver(
  objective: Objective,
  mine: readonly Played[],
  reference: readonly Played[],
): Gain {
  const gains = mine.map((run, index) => OBJECTIVES[objective](run, reference[index]!) - 1);
  return { mean: mean(gains), least: Math.min(...gains), most: Math.max(...gains) };
}
