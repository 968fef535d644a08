// SPDX-License-Identifier: Apache-2.0
// What every routing policy is: a small pure class that answers which endpoint a request should go to.
import { Homes } from "../../memory/homes";
import { Loads } from "../../memory/loads";
import { Reason } from "../../metrics/reason";
import { Request } from "../../request/request";
import { Decision, NO_ENDPOINT } from "../decision";

/** The answer of a look-up that found nothing. */
export const NO_INDEX: i32 = -1;

/** A policy knows no host, no clock and no chance of its own: all of them come in as arguments. */
export abstract class Policy {
  /**
   * Chooses an endpoint for one request and writes it to `decision`. Never allocates.
   *
   * @param nowMs time in ms since the epoch, on the clock of `homes.servedMs`
   * @param chance 64 random bits, used to choose among equals
   */
  abstract pick(
    request: Request,
    homes: Homes,
    loads: Loads,
    nowMs: u64,
    chance: u64,
    decision: Decision,
  ): void;
}

/**
 * The request continues a session that was served here: by its history, or, where the history was compacted, by
 * its session key alone (a weak home, which holds the head at most).
 */
export function isFollowUp(homes: Homes): bool {
  return homes.count > 0 && (homes.verifiedTurn > 1 || homes.bySession);
}

/** Why a request without a home is placed by load: history that nobody here knows, or none at all. */
export function placementReason(request: Request): Reason {
  return request.turn > 1 ? Reason.Cold : Reason.FirstTurn;
}

/** Row of an endpoint among the candidates, or NO_INDEX. */
export function candidateOf(loads: Loads, slot: i32): i32 {
  for (let i = 0; i < loads.count; i++) {
    if (loads.slots[i] == slot) return i;
  }
  return NO_INDEX;
}

/** Leaves the choice to Envoy's load balancer: whoever gets it is believed to compute the whole prompt. */
export function leaveToEnvoy(request: Request, reason: Reason, decision: Decision): void {
  decision.set(NO_ENDPOINT, reason);
  decision.uncachedTokens = request.promptTokens;
}

/** Names an endpoint that is believed to hold `cachedTokens` of the prompt. */
export function sendTo(
  slot: i32,
  reason: Reason,
  request: Request,
  cachedTokens: u32,
  decision: Decision,
): void {
  decision.set(slot, reason);
  decision.uncachedTokens = request.promptTokens - min(request.promptTokens, cachedTokens);
}
