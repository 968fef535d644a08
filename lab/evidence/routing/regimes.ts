// SPDX-License-Identifier: Apache-2.0
// The cells of the routing study, fixed before any of its runs: tier, capacity, loads, seeds and arms.
import type { FleetPlan } from "../../replay/drivers/driver.ts";
import type { LoadPlan } from "../../replay/plan.ts";
import type { RunSpec } from "../study.ts";

/** A regime: everything but load, seed and arm. */
export interface Cell {
  name: string;
  trace: string;
  fleet: FleetPlan;
  /** The load at which tokens/s within the objective peak, found on the even sessions. */
  knee: LoadPlan;
}

const MINUTES = 15;
const ENDPOINTS = 8;

function fleetOf(kvTokens: number, globalGbps: number): FleetPlan {
  return {
    endpoints: ENDPOINTS,
    decodeEndpoints: 0,
    preset: "30b-a3b-h20",
    kvTokens,
    blockTokens: 64,
    globalTokens: globalGbps === 0 ? 0 : kvTokens * ENDPOINTS * 8,
    globalGbps,
  };
}

export const CELLS: readonly Cell[] = [
  { name: "n28", trace: "coding-agent", fleet: fleetOf(2_800_000, 0), knee: { ratePerS: 0.8 } },
];

export function specOf(cell: Cell, arm: string, factor: number, seed: number): RunSpec {
  const { name, trace, fleet, knee } = cell;
  const load =
    "ratePerS" in knee
      ? { ratePerS: Number((knee.ratePerS * factor).toPrecision(3)) }
      : { sessions: Math.round(knee.sessions * factor) };
  return { cell: name, trace, half: "odd", fleet, load, minutes: MINUTES, seed, arm };
}
