// SPDX-License-Identifier: Apache-2.0
// The regimes of the routing study, fixed before any of its runs: fleets, workloads, loads and arms.
import type { FleetPlan } from "../../replay/drivers/driver.ts";
import type { LoadPlan } from "../../replay/plan.ts";
import type { RunMeasures, RunSpec } from "../study.ts";

/** Everything of a run but its load, seed and arm. */
export interface Cell {
  name: string;
  /** The cell in words. */
  title: string;
  trace: string;
  fleet: FleetPlan;
  /** New sessions per second at which tokens/s within the objective peak: what `knees.ts` finds. */
  kneePerS: number;
}

const MINUTES = 15;
const ENDPOINTS = 8;
const PREFILL = 4;
const DECODE = 12;
/** A tier holds eight times what the endpoints' own caches hold. */
const TIER_FACTOR = 8;
/** More bandwidth than any fleet asks for. */
export const UNLIMITED_GBPS = 10_000;

/** KV tokens of an endpoint: live contexts at the knee are half of, about all of and twice what the fleet holds. */
export const ROOMY = 2_800_000;
export const EVEN = 1_400_000;
export const TIGHT = 700_000;

const CAPACITY_TITLES = new Map([
  [ROOMY, "contexts fill half of the caches"],
  [EVEN, "contexts fill the caches"],
  [TIGHT, "contexts are twice the caches"],
]);

function fleetOf(endpoints: number, decodeEndpoints: number, kvTokens: number, gbps: number) {
  return {
    endpoints,
    decodeEndpoints,
    preset: "30b-a3b-h20",
    kvTokens,
    blockTokens: 128,
    globalTokens: gbps === 0 ? 0 : kvTokens * endpoints * TIER_FACTOR,
    globalGbps: gbps,
  } satisfies FleetPlan;
}

function tierTitle(gbps: number): string {
  return gbps === 0 ? "no tier" : `tier of ${gbps} GB/s`;
}

/** Endpoints that prefill and decode. */
function colocated(name: string, kvTokens: number, gbps: number, kneePerS: number): Cell {
  const title = `${tierTitle(gbps)}, ${CAPACITY_TITLES.get(kvTokens)}`;
  const fleet = fleetOf(ENDPOINTS, 0, kvTokens, gbps);
  return { name, title, trace: "coding-agent", fleet, kneePerS };
}

/** Prefill and decode apart: the policy chooses among the prefill endpoints. */
function disaggregated(name: string, gbps: number, kneePerS: number): Cell {
  const title = `prefill pool, ${tierTitle(gbps)}`;
  const fleet = fleetOf(PREFILL, DECODE, EVEN, gbps);
  return { name, title, trace: "coding-agent", fleet, kneePerS };
}

/** Letter: tier bandwidth (n 0, b 2.5, c 10, d 40 GB/s for all), number: 100,000 KV tokens an endpoint, p: prefill. */
export const CELLS: readonly Cell[] = [
  colocated("n28", ROOMY, 0, 0.42),
  colocated("n07", TIGHT, 0, 0.19),
  colocated("c28", ROOMY, 10, 0.42),
  colocated("c07", TIGHT, 10, 0.29),
  colocated("d28", ROOMY, 40, 0.42),
  colocated("d07", TIGHT, 40, 0.35),
  disaggregated("pn14", 0, 0.19),
  disaggregated("pd14", 40, 0.61),
];

/** What the whole grid has beside `CELLS`; their knees are interpolated between those. */
const MORE_CELLS: readonly Cell[] = [
  colocated("n14", EVEN, 0, 0.3),
  colocated("b28", ROOMY, 2.5, 0.42),
  colocated("b14", EVEN, 2.5, 0.33),
  colocated("b07", TIGHT, 2.5, 0.23),
  colocated("c14", EVEN, 10, 0.36),
  colocated("d14", EVEN, 40, 0.39),
  disaggregated("pb14", 2.5, 0.25),
  disaggregated("pc14", 10, 0.41),
];

export const FULL_CELLS: readonly Cell[] = [...CELLS, ...MORE_CELLS];

/** The default policy: what every other arm is held against. */
export const OURS = "priced";

export const ARMS: readonly string[] = [
  OURS,
  "sticky",
  "smetric-v1",
  "smetric-v2",
  "lmetric",
  "least-request",
  "session-hash",
  "linear:0.7",
  "linear:0.55",
  "filter:8",
  "cache-first",
  "sticky-until-saturated",
];

export const QUICK_ARMS: readonly string[] = [
  OURS,
  "smetric-v2",
  "lmetric",
  "least-request",
  "session-hash",
  "linear:0.7",
];

export const FULL_ARMS: readonly string[] = [
  ...ARMS,
  "agentix",
  "filter:16",
  "dual-map",
  "vllm-smetric",
  "round-robin",
  "p2c",
];

/** Shares of the knee. */
export const LOADS: readonly number[] = [0.8, 1, 1.15];
export const QUICK_LOADS: readonly number[] = [0.8, 1];
export const FULL_LOADS: readonly number[] = [0.7, 0.8, 0.9, 1, 1.15];

export const SEEDS: readonly number[] = [51, 52, 53];

/** Tokens per second within the objective; in a prefill pool prompt tokens within the TTFT objective. */
export function goodputOf(cell: Cell, measures: RunMeasures): number {
  return cell.fleet.decodeEndpoints > 0 ? measures.prefill_tps_slo : measures.tps_slo;
}

export function isDisaggregated(cell: Cell): boolean {
  return cell.fleet.decodeEndpoints > 0;
}

/** A run of a cell at a share of its knee. */
export function specOf(cell: Cell, arm: string, share: number, seed: number): RunSpec {
  const ratePerS = Number((cell.kneePerS * share).toPrecision(3));
  return specAt(cell, arm, { ratePerS }, seed);
}

export function specAt(cell: Cell, arm: string, load: LoadPlan, seed: number): RunSpec {
  const { name, trace, fleet } = cell;
  return { cell: name, trace, half: "odd", fleet, load, minutes: MINUTES, seed, arm };
}

/** A comparison beside the grid: one load, few arms, one seed. */
export interface SideCell {
  cell: Cell;
  load: LoadPlan;
  arms: readonly string[];
}

function side(name: string, title: string, trace: string, gbps: number): Cell {
  return { name, title, trace, fleet: fleetOf(ENDPOINTS, 0, TIGHT, gbps), kneePerS: 0 };
}

/** A population instead of arrivals; agents and people; short prompts around the 2,048 tokens of Agentix. */
export const SIDE_CELLS: readonly SideCell[] = [
  {
    cell: side("closed", "100 agents at any time, no tier", "coding-agent", 0),
    load: { sessions: 100 },
    arms: [OURS, "linear:0.7", "cache-first", "lmetric"],
  },
  {
    cell: side("mixed", "agents and chat in turn, tier of 40 GB/s", "coding-agent+sharegpt", 40),
    load: { ratePerS: 0.7 },
    arms: [OURS, "least-request", "lmetric", "linear:0.7"],
  },
  {
    cell: side("airline", "airline conversations, no tier", "airline", 0),
    load: { ratePerS: 4 },
    arms: [OURS, "agentix", "round-robin"],
  },
];

/** Bandwidths of the tier among which the smallest sufficient one is looked for, at one load and with small caches. */
export const TIERS_GBPS: readonly number[] = [0, 2.5, 10, 40, UNLIMITED_GBPS];
const TIER_RATE_PER_S = 0.35;

export function tierSpec(gbps: number): RunSpec {
  const title = tierTitle(gbps);
  const fleet = fleetOf(ENDPOINTS, 0, TIGHT, gbps);
  const cell: Cell = { name: `tier ${gbps}`, title, trace: "coding-agent", fleet, kneePerS: 0 };
  return specAt(cell, OURS, { ratePerS: TIER_RATE_PER_S }, SEEDS[0]!);
}
