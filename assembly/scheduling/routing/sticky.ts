// SPDX-License-Identifier: Apache-2.0
// Policy `sticky`: a home is a home, whatever its load; everything else is Envoy's to place.
import { Homes } from "../../memory/homes";
import { Loads } from "../../memory/loads";
import { Reason } from "../../metrics/reason";
import { Request } from "../../request/request";
import { Decision } from "../decision";
import { isFollowUp, leaveToEnvoy, placementReason, Policy, sendTo } from "./policy";

/**
 * `slot = verified turn > 1 ? best home : none`. Session affinity by turn, as in SMetric without its guard
 * (arXiv 2607.08565); first turns and cold histories go where Envoy's least request sends them.
 */
export class Sticky extends Policy {
  pick(
    request: Request,
    homes: Homes,
    loads: Loads,
    nowMs: u64,
    chance: u64,
    decision: Decision,
  ): void {
    if (!isFollowUp(homes)) {
      leaveToEnvoy(request, placementReason(request), decision);
      return;
    }
    sendTo(homes.slots[0], Reason.Home, request, homes.prefixTokens[0], decision);
  }
}
