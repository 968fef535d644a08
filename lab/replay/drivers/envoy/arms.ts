// SPDX-License-Identifier: Apache-2.0
// The arms that a real Envoy can play: the filter with any of its policies, and Envoy's own load balancers.
import { Failure } from "../../../../cli/failure.ts";
import { admissionNamed, splitArm } from "../../admission/arms.ts";
import type { EnvoyOptions } from "../../../../envoy/launcher.ts";

type ArmBootstrap = Pick<EnvoyOptions, "bootstrap" | "balancing" | "configuration">;

export interface EnvoyArm extends ArmBootstrap {
  /** Clients send their session id (only the hash needs one). */
  sendsSessionId: boolean;
}

const BALANCERS: Record<string, EnvoyOptions["balancing"]> = {
  "least-request": "least_request",
  "round-robin": "round_robin",
  "session-hash": "ring_hash",
};

/** `filter` is the filter as it ships; the others are its policies by name. */
const FILTER_POLICIES = [
  "filter",
  "priced",
  "sticky",
  "smetric-v1",
  "smetric-v2",
  "lmetric",
  "agentix",
];

const ENVOY_ARMS: readonly string[] = [...FILTER_POLICIES, ...Object.keys(BALANCERS)];

/**
 * @param kvTokens capacity of an endpoint, for admission that is told it
 * @param holding how admission holds, as the filter's configuration says it
 * @throws Failure for a name that no Envoy can play
 */
export function envoyArm(arm: string, kvTokens: number, holding: object = {}): EnvoyArm {
  const { policy: name, admission } = splitArm(arm);
  const way = admissionNamed(admission, kvTokens);
  if (way.name === "aimd") throw new Failure("--admission aimd: only --driver virtual has it");
  if (way.configuration !== null && !FILTER_POLICIES.includes(name)) {
    throw new Failure(`policy ${name}: only the filter's policies have admission`);
  }
  const balancing = BALANCERS[name];
  if (balancing !== undefined) {
    return { bootstrap: "baseline", balancing, sendsSessionId: name === "session-hash" };
  }
  if (!FILTER_POLICIES.includes(name)) {
    throw new Failure(`policy ${name}: a real Envoy plays ${ENVOY_ARMS.join(", ")}`);
  }
  const configuration = {
    ...(name === "filter" ? {} : { policy: name }),
    ...(way.configuration === null ? {} : { admission: { ...way.configuration, ...holding } }),
  };
  return { bootstrap: "pin", configuration, sendsSessionId: false };
}

/**
 * The same arm with the filter beside it in observe mode, as observe.yaml has it.
 * @throws Failure for a balancer that this bootstrap file does not have
 */
export function observedArm(name: string): EnvoyArm {
  if (name === "least-request") return { bootstrap: "observe", sendsSessionId: false };
  throw new Failure(`policy ${name}: a real Envoy is observed with least-request`);
}
