// SPDX-License-Identifier: Apache-2.0
// Decides between ways that a fleet may be balanced: the replay of the right one finds as much as the log says.
import { mean } from "simple-statistics";
import type { FleetPlan } from "../replay/drivers/driver.ts";
import type { Log } from "./log.ts";
import { measuredPart, type Observed, summary } from "./observed.ts";
import { planOf } from "./plan.ts";
import type { Arm, Play } from "./study.ts";

const SEEDS = [1, 2];

async function hitRateOf(log: Log, fleet: FleetPlan, now: Arm, play: Play): Promise<number> {
  const rates: number[] = [];
  for (const seed of SEEDS) {
    rates.push((await play(now, planOf(log, { fleet, load: 1, seed }))).measures.hit_rate);
  }
  return mean(rates);
}

/** The log's own hit rate, of the part that replays measure; null where it does not tell. */
function measuredHitRate(observed: Observed, log: Log): number | null {
  return summary(measuredPart(observed, log)).hitRate;
}

/**
 * Of several ways that a fleet may be balanced, the one whose replay comes nearest to the log's own hit rate; the first
 * where the log tells none.
 */
export async function nearestArm(
  observed: Observed,
  log: Log,
  fleet: FleetPlan,
  arms: readonly Arm[],
  play: Play,
): Promise<Arm> {
  const hitRate = measuredHitRate(observed, log);
  if (hitRate === null || arms.length === 1) return arms[0]!;
  let best = { arm: arms[0]!, distance: Infinity };
  for (const arm of arms) {
    const distance = Math.abs((await hitRateOf(log, fleet, arm, play)) - hitRate);
    if (distance < best.distance) best = { arm, distance };
  }
  return best.arm;
}
