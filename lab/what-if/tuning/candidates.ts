// SPDX-License-Identifier: Apache-2.0
// What a search tries: every policy of the filter with its few numbers, and admission where contexts do not fit.
import { joinArm } from "../../replay/admission/arms.ts";
import type { Arm } from "../study.ts";

/** Fields of the filter's configuration that differ from the defaults. */
export interface Configuration {
  policy?: string;
  first_turn?: "least-request";
  short_prompt_tokens?: number;
  admission?: { enabled: true; order?: "oldest-session" };
}

/** The filter as it ships. */
export const DEFAULT: Configuration = {};

const POLICIES: Configuration[] = [
  { first_turn: "least-request" },
  { policy: "sticky" },
  { policy: "smetric-v1" },
  { policy: "smetric-v2" },
  { policy: "lmetric" },
  { policy: "agentix" },
  { policy: "agentix", short_prompt_tokens: 512 },
  { policy: "agentix", short_prompt_tokens: 8_192 },
];

const HOLDING: Configuration[] = [
  { admission: { enabled: true } },
  { admission: { enabled: true, order: "oldest-session" } },
  { policy: "sticky", admission: { enabled: true } },
];

/** Below that share of the KV capacity, every context fits and admission has nothing to hold. */
const HOLDING_FROM = 0.7;

/**
 * All but the default.
 * @param contextShare contexts of live sessions over the fleet's KV capacity
 */
export function candidates(contextShare: number): Configuration[] {
  return contextShare < HOLDING_FROM ? POLICIES : [...POLICIES, ...HOLDING];
}

/** On one line. */
export function nameOf(configuration: Configuration): string {
  return configuration === DEFAULT ? "default" : JSON.stringify(configuration);
}

/** A configuration as an arm of a replay. */
export function armFor(configuration: Configuration): Arm {
  const { policy = "priced", ...rest } = configuration;
  const way = configuration.admission === undefined ? "off" : "learned";
  return { name: nameOf(configuration), policy: joinArm(policy, way), configuration: rest };
}
