// SPDX-License-Identifier: Apache-2.0
// The log's sessions at another load: some of them left out, or copies with texts of their own beside them.
import type { Arrival, FleetPlan, ReplayPlan } from "../replay/drivers/driver.ts";
import { SessionBuilder } from "../replay/workloads/linked-rows.ts";
import { chance, shuffled } from "../replay/workloads/random.ts";
import type { Log } from "./log.ts";

export interface PlanOptions {
  fleet: FleetPlan;
  /** 1 is the load of the log, 2 twice as many sessions. */
  load: number;
  seed: number;
  /** Every other session alone, as often as it takes for the load. */
  half?: "even" | "odd";
}

/** Share of the time that is warm-up and not measured. */
export const WARMUP_SHARE = 1 / 3;
/** Another seed is the same traffic a moment later or earlier. */
const JITTER_MS = 10_000;
/** The seed that plays the log as it stands. */
const PLAIN_SEED = 1;

/** Trees of the log by their index, those of one half or all. */
function chosenTrees(log: Log, half: PlanOptions["half"]): number[] {
  const all = log.trees.map((_, index) => index);
  if (half === undefined) return all;
  return all.filter((index) => (index % 2 === 0) === (half === "even"));
}

/**
 * What every arm of a comparison is given: sessions start when they did in the log, their later calls after the gaps of
 * the log. Copies start at other times of the window.
 */
export function planOf(log: Log, options: PlanOptions): ReplayPlan {
  const { fleet, load, seed, half } = options;
  const trees = chosenTrees(log, half);
  const draws = chance(seed, `what-if/${log.name}`);
  const builder = new SessionBuilder(log.rows, Infinity);
  const wanted = Math.max(1, Math.round(log.trees.length * load));
  const arrivals: Arrival[] = [];
  for (let copy = 0; arrivals.length < wanted; copy++) {
    const missing = wanted - arrivals.length;
    const some = missing < trees.length ? shuffled(trees, draws).slice(0, missing) : trees;
    const shiftMs = copy === 0 ? 0 : draws.uniform() * log.spanMs;
    for (const tree of some) {
      const index = copy * log.trees.length + tree;
      const session = builder.build(log.trees[tree]!, `${log.name}-${index}`, index, copy);
      const startMs = log.rows[log.trees[tree]![0]!]!.timeMs + shiftMs;
      const jitterMs = seed === PLAIN_SEED ? 0 : draws.uniform() * JITTER_MS;
      arrivals.push({ session, startMs: (startMs % (log.spanMs + 1)) + jitterMs, firstCall: 0 });
    }
  }
  const limitMs = log.spanMs;
  return { fleet, arrivals, refill: null, seed, limitMs, warmupMs: limitMs * WARMUP_SHARE };
}
