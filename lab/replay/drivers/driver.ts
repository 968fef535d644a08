// SPDX-License-Identifier: Apache-2.0
// What every driver of a replay offers: it takes a plan and an arm, and gives back what happened.
import type { PresetName, StepCost } from "../../mock-gpu/engine/step-cost.ts";
import type { ArmRun, CallRecord } from "../measures/record.ts";
import type { FleetEvent } from "../events.ts";
import type { Session } from "../workloads/session.ts";

/** When a session starts, and with which of its calls (a population begins mid-way). */
export interface Arrival {
  session: Session;
  startMs: number;
  firstCall: number;
}

/** The fleet: the same for every arm. */
export interface FleetPlan {
  /** Endpoints that a gateway chooses among; in a disaggregated fleet those that prefill. */
  endpoints: number;
  /** Engines that decode what the endpoints have prefilled; 0 = every endpoint does both. */
  decodeEndpoints: number;
  preset: PresetName;
  /** Step costs that are not those of the preset, such as measured ones; virtual time only. */
  cost?: StepCost;
  /** KV capacity of one endpoint in tokens. */
  kvTokens: number;
  /** Capacities of the single endpoints where they differ; virtual time only. */
  kvTokensEach?: readonly number[];
  /** Tokens per KV block. */
  blockTokens: number;
  /** Shared KV tier: tokens it holds and bandwidth in 10^9 bytes a second for the whole fleet; 0 = none. */
  globalTokens: number;
  globalGbps: number;
}

/** What goes wrong or changes during a replay in virtual time. */
export interface Disturbance {
  events: readonly FleetEvent[];
  /** Engines report no usage. */
  hidesUsage: boolean;
  /** Share of answers that report no cached tokens whatever there were. */
  falseReports: number;
  /** A session's text has up to this share more or fewer bytes per token than the average. */
  estimateError: number;
  /** With several gateways, each session keeps to one; otherwise each call comes through any of them. */
  sessionsKeepGateway: boolean;
}

export const UNDISTURBED: Disturbance = {
  events: [],
  hidesUsage: false,
  falseReports: 0,
  estimateError: 0,
  sessionsKeepGateway: false,
};

/** Everything that is equal for all arms of a comparison. Times are simulated milliseconds. */
export interface ReplayPlan {
  fleet: FleetPlan;
  arrivals: readonly Arrival[];
  /** The n-th session that takes the place of one that has ended, in a closed population; null in an open one. */
  refill: ((index: number, nowMs: number) => Arrival) | null;
  seed: number;
  disturbance?: Disturbance;
  /** Calls that would start later are not made; sessions that still run then are cut off. */
  limitMs: number;
  /** Calls before this moment are not measured. */
  warmupMs: number;
}

/** What a driver shows while it runs. */
export interface Watcher {
  /** The simulated time moved on; `inFlight` counts requests per endpoint. */
  tick(nowMs: number, inFlight: readonly number[]): void;
  ended(record: CallRecord): void;
  sessionFinished(): void;
}

export interface Driver {
  readonly name: "envoy" | "virtual";
  /** How fast the last run went and where the time went, for the progress line. */
  speed?(): string;
  /** Ends what the driver keeps running between arms. */
  close?(): void;
  /** @throws Failure when the arm cannot be set up */
  run(arm: string, plan: ReplayPlan, watcher: Watcher, signal: AbortSignal): Promise<ArmRun>;
}
