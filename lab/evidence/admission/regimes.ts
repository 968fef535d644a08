// SPDX-License-Identifier: Apache-2.0
// The cells of the admission study, fixed before any of its runs: populations, rates, capacities, and what goes wrong.
import { PRESETS, scaled } from "../../mock-gpu/engine/step-cost.ts";
import type { Disturbance, FleetPlan } from "../../replay/drivers/driver.ts";
import { parseEvents } from "../../replay/events.ts";
import type { RunSpec } from "../study.ts";

export const SEEDS: readonly number[] = [1, 2, 3];
/** Job times of sessions that begin at random differ more from seed to seed: a row that a target is set for has four more. */
export const MORE_SEEDS: readonly number[] = [...SEEDS, 4, 5, 6, 7];
export const ENDPOINTS = 8;
const PRESET = "30b-a3b-h20";
export const MILLION = 1_000_000;
/** The first third is warm-up. */
const CLOSED_MINUTES = 45;
/** Sessions begin for an hour; who has not ended by then counts as unfinished. */
const STARTS_MINUTES = 60;
const OPEN_MINUTES = 360;
/** A share of the capacity each: the windows that are searched for the best one. */
export const WINDOWS: readonly number[] = [0.85, 1, 1.2];

/** Whether sessions of one application share its head in the cache, or each has one of its own. */
export type Heads = "own" | "shared";

/** A closed population on endpoints of so many million tokens; heads are the sessions' own unless said otherwise. */
export interface ClosedCell {
  sessions: number;
  millions: number;
  heads?: Heads;
}

export const CLOSED: readonly ClosedCell[] = [
  { sessions: 40, millions: 0.3 },
  { sessions: 40, millions: 0.6 },
  { sessions: 80, millions: 0.3 },
  { sessions: 80, millions: 1 },
  { sessions: 120, millions: 1 },
  { sessions: 160, millions: 0.5 },
  { sessions: 160, millions: 1 },
  { sessions: 160, millions: 2 },
  { sessions: 256, millions: 0.6 },
  { sessions: 256, millions: 1 },
  { sessions: 256, millions: 2 },
  { sessions: 256, millions: 4 },
  { sessions: 400, millions: 1 },
  { sessions: 400, millions: 2 },
  { sessions: 400, millions: 4 },
];

/** Sessions that begin at random, so many a second. */
export interface OpenCell {
  ratePerS: number;
  millions: number;
  heads?: Heads;
  /** The usual ones unless said otherwise. */
  seeds?: readonly number[];
}

export const OPEN: readonly OpenCell[] = [
  { millions: 0.6, ratePerS: 0.04 },
  { millions: 0.6, ratePerS: 0.06 },
  { millions: 0.6, ratePerS: 0.1 },
  { millions: 1, ratePerS: 0.06 },
  { millions: 1, ratePerS: 0.09, seeds: MORE_SEEDS },
  { millions: 1, ratePerS: 0.09, heads: "shared" },
  { millions: 2, ratePerS: 0.12 },
  { millions: 2, ratePerS: 0.16 },
];

export const openSeeds = ({ seeds }: OpenCell): readonly number[] => seeds ?? SEEDS;

/** What else may be different; one seed each. */
export interface Scenario extends ClosedCell {
  name: string;
  fleet?: Partial<FleetPlan>;
  disturbance?: Partial<Disturbance>;
  gateways?: number;
  bytesPerToken?: number;
}

const gpu = (speed: number): Partial<FleetPlan> => ({ cost: scaled(PRESETS[PRESET].cost, speed) });
const tier = (globalGbps: number): Partial<FleetPlan> => ({
  globalGbps,
  globalTokens: 1_000 * MILLION,
});
const events = (text: string): Partial<Disturbance> => ({ events: parseEvents(text, ENDPOINTS) });
const KEEPS: Partial<Disturbance> = { sessionsKeepGateway: true };

const SHARED = { name: "heads are shared", heads: "shared" } as const;

export const SCENARIOS: readonly Scenario[] = [
  { ...SHARED, sessions: 120, millions: 1 },
  { ...SHARED, sessions: 256, millions: 1 },
  { ...SHARED, sessions: 256, millions: 2 },
  { ...SHARED, sessions: 400, millions: 2 },
  { name: "GPUs three times as fast", sessions: 160, millions: 0.5, fleet: gpu(3) },
  { name: "GPUs three times as fast, fits", sessions: 160, millions: 2, fleet: gpu(3) },
  { name: "GPUs a third as fast, fits", sessions: 160, millions: 2, fleet: gpu(1 / 3) },
  {
    ...{ name: "two endpoints of 0.4 M, six of 1.5 M", sessions: 160, millions: 1 },
    fleet: { kvTokensEach: [0.4, 0.4, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5].map((x) => x * MILLION) },
  },
  {
    ...{ name: "1 M, then 0.5 M, then 1 M", sessions: 160, millions: 1 },
    disturbance: events("15:kv=500000,30:kv=1000000"),
  },
  {
    ...{ name: "60 sessions, then 240, then 60", sessions: 60, millions: 1 },
    disturbance: events("15:sessions=240,30:sessions=60"),
  },
  {
    ...{ name: "one endpoint dies and returns", sessions: 120, millions: 1 },
    disturbance: events("15:down@3,25:up@3"),
  },
  { name: "a tier of 10 GB/s for all", sessions: 256, millions: 1, fleet: tier(10) },
  { name: "2 gateways", sessions: 256, millions: 1, gateways: 2, disturbance: KEEPS },
  { name: "8 gateways", sessions: 256, millions: 1, gateways: 8, disturbance: KEEPS },
  {
    ...{ name: "2 % of answers report nothing cached", sessions: 256, millions: 1 },
    disturbance: { falseReports: 0.02 },
  },
  {
    ...{ name: "no usage is reported", sessions: 256, millions: 1, bytesPerToken: 4 },
    disturbance: { hidesUsage: true },
  },
  {
    ...{ name: "text of sessions differs by 15 %", sessions: 256, millions: 1 },
    disturbance: { estimateError: 0.15 },
  },
];

function fleetOf(millions: number, changes: Partial<FleetPlan> = {}): FleetPlan {
  return {
    endpoints: ENDPOINTS,
    decodeEndpoints: 0,
    preset: PRESET,
    kvTokens: Math.round(millions * MILLION),
    blockTokens: 64,
    globalTokens: 0,
    globalGbps: 0,
    ...changes,
  };
}

/** Ways of admission, and how long they hold: without a limit unless it is the filter's own. */
export type Way = "off" | "learned" | "limited" | "oldest" | "aimd" | `fixed:${number}`;

function armOf(way: Way): Pick<RunSpec, "arm" | "configuration"> {
  const name = way === "limited" || way === "oldest" ? "learned" : way;
  if (name === "off") return { arm: "sticky" };
  const order = way === "oldest" ? { order: "oldest-session" } : {};
  const limit = way === "limited" ? {} : { hold_limit_ms: 0 };
  return { arm: `sticky+${name}`, configuration: { admission: { ...order, ...limit } } };
}

function traceOf(heads: Heads = "own") {
  const trace = heads === "own" ? "coding-agent-own-heads" : "coding-agent-flat";
  return { trace, half: "odd", knowsText: true } as const;
}

export function closedSpec(cell: ClosedCell, way: Way, seed: number): RunSpec {
  const { sessions, millions, heads } = cell;
  const load = { sessions };
  const place = { cell: `${sessions} x ${millions} M`, fleet: fleetOf(millions) };
  return { ...traceOf(heads), ...place, load, minutes: CLOSED_MINUTES, seed, ...armOf(way) };
}

export function openSpec({ millions, ratePerS, heads }: OpenCell, way: Way, seed: number): RunSpec {
  const load = { ratePerS, startsMinutes: STARTS_MINUTES };
  const name = `${millions} M, ${ratePerS} a second`;
  const cell = heads === "shared" ? `${name}, shared heads` : name;
  const place = { cell, fleet: fleetOf(millions) };
  return { ...traceOf(heads), ...place, load, minutes: OPEN_MINUTES, seed, ...armOf(way) };
}

export function scenarioSpec(scenario: Scenario, way: Way): RunSpec {
  const { name, sessions, millions, heads, fleet, disturbance, gateways, bytesPerToken } = scenario;
  return {
    ...traceOf(heads),
    cell: name,
    fleet: fleetOf(millions, fleet),
    load: { sessions },
    minutes: CLOSED_MINUTES,
    seed: SEEDS[0]!,
    ...armOf(way),
    ...(disturbance === undefined ? {} : { disturbance }),
    ...(gateways === undefined ? {} : { gateways }),
    ...(bytesPerToken === undefined ? {} : { bytesPerToken }),
  };
}
