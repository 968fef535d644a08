// SPDX-License-Identifier: Apache-2.0
// From the options of a replay to the plan that is equal for all its arms.
import { openArrivals, poissonArrivals, populationArrivals } from "./arrivals.ts";
import type { Disturbance, FleetPlan, ReplayPlan } from "./drivers/driver.ts";
import { type SessionSource, takeSessions } from "./workloads/session.ts";

/**
 * How much load: a closed population, or sessions per second. With `startsMinutes` these begin on an empty fleet and
 * for that time only, all is measured, and the replay ends when the last of them has.
 */
export type LoadPlan = { sessions: number } | { ratePerS: number; startsMinutes?: number };

export interface PlanOptions {
  fleet: FleetPlan;
  load: LoadPlan;
  minutes: number;
  seed: number;
  disturbance?: Disturbance;
}

/** Share of the time that is warm-up and not measured. */
const WARMUP_SHARE = 1 / 3;
/** A user who has finished starts the next session after a short while. */
const REFILL_GAP_MS = 5_000;

export function buildPlan(source: SessionSource, options: PlanOptions): ReplayPlan {
  const { fleet, load, minutes, seed, disturbance } = options;
  const limitMs = minutes * 60_000;
  const common = { fleet, seed, disturbance, limitMs, warmupMs: limitMs * WARMUP_SHARE };
  if ("ratePerS" in load && load.startsMinutes !== undefined) {
    const sessions = takeSessions(source, Math.round(load.ratePerS * load.startsMinutes * 60));
    const arrivals = poissonArrivals(sessions, 1000 / load.ratePerS, seed);
    return { ...common, warmupMs: 0, arrivals, refill: null };
  }
  if ("ratePerS" in load) {
    return {
      ...common,
      arrivals: openArrivals(source, load.ratePerS, limitMs, seed),
      refill: null,
    };
  }
  return {
    ...common,
    arrivals: populationArrivals(source, load.sessions, seed),
    refill: (index, nowMs) => ({
      session: source.at(load.sessions + index),
      startMs: nowMs + REFILL_GAP_MS,
      firstCall: 0,
    }),
  };
}
