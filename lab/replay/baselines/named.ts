// SPDX-License-Identifier: Apache-2.0
// Baselines by the names that commands take: `linear`, `linear:0.55`, `filter:16`, ...
import { Failure } from "../../../cli/failure.ts";
import type { StepCost } from "../../mock-gpu/engine/step-cost.ts";
import type { Baseline } from "./policy.ts";
import {
  cacheFirst,
  dualMap,
  filter,
  linear,
  stickyUntilSaturated,
  vllmSmetric,
} from "./published.ts";
import { STOCK_POLICIES } from "./stock.ts";

interface Entry {
  /** Value of the parameter after the colon when none is given; null takes none. */
  parameter: number | null;
  /** The largest parameter; the smallest is 0. */
  most?: number;
  build: (parameter: number, cost: StepCost) => Baseline;
}

/** llm-d's published calibration: about 14 s of prefill. */
const LLM_D_LIMIT_TOKENS = 286_720;

const PUBLISHED: Record<string, Entry> = {
  linear: { parameter: 0.7, most: 1, build: linear },
  filter: { parameter: 8, build: filter },
  "cache-first": { parameter: null, build: cacheFirst },
  "sticky-until-saturated": { parameter: LLM_D_LIMIT_TOKENS, build: stickyUntilSaturated },
  "dual-map": { parameter: null, build: (_, cost) => dualMap(cost) },
  "vllm-smetric": { parameter: null, build: (_, cost) => vllmSmetric(cost) },
};

/** Every arm that is not the filter. */
export const BASELINE_NAMES: readonly string[] = [
  ...Object.keys(STOCK_POLICIES),
  ...Object.keys(PUBLISHED),
];

/**
 * The published policy of an arm's name.
 * @param cost prefill cost of the fleet's GPUs, for policies that are configured with it
 * @returns null when none is called so
 * @throws Failure when the parameter is not a number that the policy takes
 */
export function publishedNamed(arm: string, cost: StepCost): Baseline | null {
  const [name = "", text, ...more] = arm.split(":");
  const entry = Object.hasOwn(PUBLISHED, name) ? PUBLISHED[name] : undefined;
  if (entry === undefined) return null;
  if (text === undefined) return entry.build(entry.parameter ?? 0, cost);
  if (entry.parameter === null) throw new Failure(`policy ${arm}: ${name} takes no parameter`);
  const parameter = Number(text);
  const { most = Infinity } = entry;
  if (text.trim() === "" || more.length > 0 || !(parameter >= 0 && parameter <= most)) {
    const range = most === Infinity ? "of at least 0" : `from 0 to ${most}`;
    throw new Failure(`policy ${arm}: ${name} takes one number ${range}`);
  }
  return entry.build(parameter, cost);
}
