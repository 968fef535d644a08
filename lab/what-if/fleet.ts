// SPDX-License-Identifier: Apache-2.0
// The fleet behind a log: what it tells, what was given on the command line, and what had to be assumed.
import { type PresetName, PRESETS } from "../mock-gpu/engine/step-cost.ts";
import type { FleetPlan } from "../replay/drivers/driver.ts";
import { estimateCapacity } from "./capacity.ts";
import type { Observed } from "./observed.ts";
import { estimateSpeed } from "./speed.ts";
import { count } from "./words.ts";

/** What the user knows better than the log. */
export interface GivenFleet {
  endpoints?: number;
  kvTokens?: number;
  /** Takes the costs of a known engine as they are. */
  preset?: PresetName;
  blockTokens: number;
}

export interface FoundFleet {
  fleet: FleetPlan;
  /** Where each number comes from, in words; the capacity is told by `capacityFinding`. */
  findings: string[];
  capacity: "given" | "estimated" | "assumed" | "unseen";
}

const ASSUMED_ENDPOINTS = 8;
const ASSUMED_PRESET: PresetName = "30b-a3b-h20";
/** An address that served less than that share of the mean came or went. */
const PRESENT_SHARE = 0.05;

/** Endpoints that took part all the time. */
function endpointsIn({ calls }: Observed): number {
  const served = new Map<string, number>();
  for (const { row } of calls) {
    const { endpoint } = row.served;
    if (endpoint !== null) served.set(endpoint, (served.get(endpoint) ?? 0) + 1);
  }
  const mean = calls.length / Math.max(1, served.size);
  return [...served.values()].filter((requests) => requests >= PRESENT_SHARE * mean).length;
}

function findEndpoints(observed: Observed, given: GivenFleet, findings: string[]): number {
  if (given.endpoints !== undefined) {
    findings.push(`${given.endpoints} endpoints, as given`);
    return given.endpoints;
  }
  const seen = endpointsIn(observed);
  if (seen > 0) {
    findings.push(`${seen} endpoints, as seen in the log`);
    return seen;
  }
  findings.push(`${ASSUMED_ENDPOINTS} endpoints, assumed (--endpoints)`);
  return ASSUMED_ENDPOINTS;
}

function findSpeed(
  observed: Observed,
  given: GivenFleet,
  findings: string[],
): Pick<FleetPlan, "preset" | "cost"> {
  if (given.preset !== undefined) {
    findings.push(`engines as fast as ${given.preset}, as given`);
    return { preset: given.preset };
  }
  const speed = estimateSpeed(observed);
  if (speed === null) {
    findings.push(`engines as fast as ${ASSUMED_PRESET}, assumed (--preset)`);
    return { preset: ASSUMED_PRESET };
  }
  const { preset, cost } = speed;
  const rate = count(1000 / cost.prefillTokenMs);
  findings.push(
    `engines that prefill about ${rate} tokens/s of a short prompt, from the log's times to the first token`,
  );
  return { preset, cost };
}

function findCapacity(
  observed: Observed,
  given: GivenFleet,
  preset: PresetName,
): { kvTokens: number; capacity: FoundFleet["capacity"] } {
  if (given.kvTokens !== undefined) return { kvTokens: given.kvTokens, capacity: "given" };
  const found = estimateCapacity(observed);
  const { kvTokens } = PRESETS[preset];
  if (found === null) return { kvTokens, capacity: "assumed" };
  if (found.atLeast) return { kvTokens: Math.max(kvTokens, found.tokens), capacity: "unseen" };
  return { kvTokens: found.tokens, capacity: "estimated" };
}

/** Where the capacity comes from, in words. */
export function capacityFinding({ fleet, capacity }: FoundFleet): string {
  const tokens = count(fleet.kvTokens);
  switch (capacity) {
    case "given":
      return `${tokens} KV tokens an endpoint, as given`;
    case "estimated":
      return `about ${tokens} KV tokens an endpoint, from what the log found again`;
    case "unseen":
      return `${tokens} KV tokens an endpoint, assumed: nothing was seen to be evicted (--kv-tokens)`;
    case "assumed":
      return `${tokens} KV tokens an endpoint, assumed (--kv-tokens)`;
  }
}

/** Estimates what can be estimated; what is given goes first. */
export function findFleet(observed: Observed, given: GivenFleet): FoundFleet {
  const findings: string[] = [];
  const endpoints = findEndpoints(observed, given, findings);
  const speed = findSpeed(observed, given, findings);
  const { kvTokens, capacity } = findCapacity(observed, given, speed.preset);
  // An engine refuses what it cannot hold: the longest context of the log was held.
  const longest = Math.max(
    ...observed.calls.map(({ row }) => row.inputTokens + row.outputTokens + given.blockTokens),
  );
  const { blockTokens } = given;
  return {
    fleet: {
      ...{ endpoints, ...speed, blockTokens, decodeEndpoints: 0 },
      kvTokens: Math.max(kvTokens, longest),
      ...{ globalTokens: 0, globalGbps: 0 },
    },
    findings,
    capacity,
  };
}
