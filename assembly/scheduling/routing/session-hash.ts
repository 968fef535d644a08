// SPDX-License-Identifier: Apache-2.0
// Policy `session-hash`: each session has one endpoint by rendezvous hashing, whatever the load.
import { fold } from "../../hash/mix";
import { Homes } from "../../memory/homes";
import { Loads } from "../../memory/loads";
import { Reason } from "../../metrics/reason";
import { Request } from "../../request/request";
import { Decision } from "../decision";
import { Estimate } from "./estimate";
import {
  candidateOf,
  isFollowUp,
  leaveToEnvoy,
  NO_INDEX,
  placementReason,
  Policy,
  sendTo,
} from "./policy";

/**
 * `argmax H(session, endpoint)` (highest random weight, Thaler and Ravishankar 1998). The session is its key, or
 * the chain up to the first model item where the client names none, so that all turns of a conversation agree.
 * When an endpoint leaves, only its own sessions move. While endpoints are unknown Envoy places first turns.
 */
export class SessionHash extends Policy {
  private estimate: Estimate = new Estimate();

  pick(
    request: Request,
    homes: Homes,
    loads: Loads,
    nowMs: u64,
    chance: u64,
    decision: Decision,
  ): void {
    const followUp = isFollowUp(homes);
    const key = sessionOf(request);
    if (key == 0 || loads.count == 0 || (!followUp && !loads.complete)) {
      leaveToEnvoy(request, placementReason(request), decision);
      return;
    }
    this.estimate.reset(request, homes, loads, 0);
    const reason = followUp ? Reason.Home : placementReason(request);
    let best = 0;
    let bestWeight: u64 = 0;
    for (let i = 0; i < loads.count; i++) {
      const weight = fold(key, <u64>loads.slots[i]);
      if (weight < bestWeight) continue;
      bestWeight = weight;
      best = i;
    }
    // In a sample another endpoint may weigh most than last time: the session stays where it was.
    const home = followUp && loads.sampled ? candidateOf(loads, homes.slots[0]) : NO_INDEX;
    if (home != NO_INDEX) best = home;
    sendTo(loads.slots[best], reason, request, <u32>this.estimate.heldAt(best), decision);
  }
}

function sessionOf(request: Request): u64 {
  if (request.session != 0 || request.boundaryCount == 0) return request.session;
  return request.boundaries[0].chain ^ request.model;
}
