// SPDX-License-Identifier: Apache-2.0
// Policy `least-request`: nothing is pinned, Envoy's own balancer places every request.
import { Homes } from "../../memory/homes";
import { Loads } from "../../memory/loads";
import { Reason } from "../../metrics/reason";
import { Request } from "../../request/request";
import { Decision } from "../decision";
import { isFollowUp, leaveToEnvoy, placementReason, Policy } from "./policy";

/** `argmin b`, b = requests in flight, as Envoy's LEAST_REQUEST counts them over all its streams. */
export class LeastRequest extends Policy {
  pick(
    request: Request,
    homes: Homes,
    loads: Loads,
    nowMs: u64,
    chance: u64,
    decision: Decision,
  ): void {
    leaveToEnvoy(request, isFollowUp(homes) ? Reason.Spill : placementReason(request), decision);
  }
}
