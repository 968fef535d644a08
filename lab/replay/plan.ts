// SPDX-License-Identifier: Apache-2.0
// From the options of a replay to the plan that is equal for all its arms.
import { openArrivals, populationArrivals } from "./arrivals.ts";
import type { Disturbance, FleetPlan, ReplayPlan } from "./drivers/driver.ts";
import type { SessionSource } from "./workloads/session.ts";

/** How much load: a closed population, or sessions per second. */
export type LoadPlan = { sessions: number } | { ratePerS: number };

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
