// SPDX-License-Identifier: Apache-2.0
// The few numbers of the routing policies, with the defaults that the operator's configuration starts from.
import { FirstTurn, Tier } from "../../config/options";
import { Loads } from "../../memory/loads";

/** Filled once from the configuration; every policy reads what concerns it. */
export class RoutingOptions {
  /** Who places first turns and cold requests: the policy's price, or Envoy's least request. */
  firstTurn: FirstTurn = FirstTurn.Priced;
  /** A KV tier shared by all endpoints: learned from reported cached tokens, known absent, known complete. */
  tier: Tier = Tier.Auto;
  /** Weight of decode pressure. Raise to 1.6 when TPOT must stay under 20 ms. */
  decodePrice: f64 = 0.7;
  /** A session moves only to an endpoint cheaper by more than this. 1 to 3 s are alike. */
  moveGapSeconds: f64 = 2;
  /** Gateways that send to the same endpoints and share nothing. */
  gateways: i32 = 1;
  /** The endpoints are the prefill pool of a disaggregated fleet. */
  prefillPool: bool = false;
  /** `agentix`: prompts up to this length are balanced; 0 = where three quarters are the head. */
  shortPromptTokens: u32 = 2048;
  /** `smetric-v2`: the TTFT objective is `base + perToken * prompt`. */
  ttftBaseSeconds: f64 = 1;
  ttftPerTokenSeconds: f64 = 62.5e-6;
  /** `smetric-v2`: share of the objective that may be used up before a session moves. */
  ttftSlack: f64 = 0.5;
  /** `smetric-v1`, `smetric-v2`: a home that holds less of the expected prefix counts as evicted. */
  hitRatio: f64 = 0.5;
  /** `smetric-v1`: a home above this multiple of the mean load is overloaded. */
  overloadFactor: f64 = 2;
}

/** A request without a home is Envoy's to place: nobody to choose from, newcomers to find, or told so. */
export function placedByEnvoy(options: RoutingOptions, loads: Loads): bool {
  return loads.count == 0 || !loads.complete || options.firstTurn == FirstTurn.LeastRequest;
}
