// SPDX-License-Identifier: Apache-2.0
// Policy `session-hash`: each session has one endpoint by rendezvous hashing, whatever the load.
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
import { rendezvous, sessionOf } from "./rendezvous";

/**
 * `argmax H(session, endpoint)`, see `rendezvous`. While endpoints are unknown Envoy places first turns.
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
    // In a sample another endpoint may weigh most than last time: the session stays where it was.
    const home = followUp && loads.sampled ? candidateOf(loads, homes.slots[0]) : NO_INDEX;
    const row = home != NO_INDEX ? home : rendezvous(key, loads);
    sendTo(loads.slots[row], reason, request, <u32>this.estimate.heldAt(row), decision);
  }
}
