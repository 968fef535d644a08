// SPDX-License-Identifier: Apache-2.0
// Corrects the estimated KV capacity: with the right one, the replay of the present finds as much as the log says.
import { mean } from "simple-statistics";
import type { FleetPlan } from "../replay/drivers/driver.ts";
import type { Log } from "./log.ts";
import { measuredPart, type Observed, summary } from "./observed.ts";
import { planOf } from "./plan.ts";
import type { Arm, Play } from "./study.ts";

/** The estimate is off by less than that factor either way. */
const WIDEST = 2.5;
/** Each halves the range in which the capacity lies. */
const STEPS = 6;
const SEEDS = [1, 2];
/** Near enough: replays of one fleet differ by more. */
const NEAR = 0.01;

async function hitRateAt(
  kvTokens: number,
  log: Log,
  fleet: FleetPlan,
  now: Arm,
  play: Play,
): Promise<number> {
  const rates: number[] = [];
  for (const seed of SEEDS) {
    const plan = planOf(log, { fleet: { ...fleet, kvTokens }, load: 1, seed });
    rates.push((await play(now, plan)).measures.hit_rate);
  }
  return mean(rates);
}

/**
 * @param fleet with the KV tokens of one endpoint as reuse tells them
 * @returns the capacity with which the replay of the present comes nearest to the log's own hit rate; the estimate where
 *   the log tells no hit rate
 */
export async function calibrate(
  observed: Observed,
  log: Log,
  fleet: FleetPlan,
  now: Arm,
  play: Play,
): Promise<number> {
  const { hitRate } = summary(measuredPart(observed, log));
  const { kvTokens: estimated } = fleet;
  if (hitRate === null) return estimated;
  let [low, high] = [estimated / WIDEST, estimated * WIDEST];
  let best = { kvTokens: estimated, distance: Infinity };
  for (let step = 0; step < STEPS && best.distance > NEAR; step++) {
    const kvTokens = Math.round(step === 0 ? estimated : Math.sqrt(low * high));
    const found = await hitRateAt(kvTokens, log, fleet, now, play);
    const distance = Math.abs(found - hitRate);
    if (distance < best.distance) best = { kvTokens, distance };
    if (found < hitRate) low = kvTokens;
    else high = kvTokens;
  }
  return best.kvTokens;
}
