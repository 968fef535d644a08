// SPDX-License-Identifier: Apache-2.0
// Policy `lmetric`: every request goes where pending prefill times batch size is least.
import { Homes } from "../../memory/homes";
import { Loads } from "../../memory/loads";
import { Reason } from "../../metrics/reason";
import { Request } from "../../request/request";
import { Decision } from "../decision";
import { Estimate } from "./estimate";
import { Lowest } from "./lowest";
import { placedByEnvoy, RoutingOptions } from "./options";
import { leaveToEnvoy, NO_INDEX, placementReason, Policy, sendTo } from "./policy";

/**
 * `argmin (q_i + L - h_i) * (b_i + 1)`: q = pending prefill tokens, L - h = tokens of this request that the
 * endpoint has not cached, b = requests in flight. Source: LMetric, arXiv 2603.15202, section 4.
 */
export class Lmetric extends Policy {
  private estimate: Estimate = new Estimate();
  private lowest: Lowest = new Lowest();

  constructor(private options: RoutingOptions) {
    super();
  }

  pick(
    request: Request,
    homes: Homes,
    loads: Loads,
    nowMs: u64,
    chance: u64,
    decision: Decision,
  ): void {
    const estimate = this.estimate;
    estimate.reset(request, homes, loads, 0);
    const home = estimate.home;
    let reason = placementReason(request);
    if (home == NO_INDEX && placedByEnvoy(this.options, loads)) {
      leaveToEnvoy(request, reason, decision);
      return;
    }
    this.lowest.reset(chance);
    for (let i = 0; i < loads.count; i++) {
      const tokens = loads.pendingPrefill[i] + estimate.uncachedAt(i);
      this.lowest.offer(i, tokens * <f64>(loads.inFlight[i] + 1));
    }
    const row = this.lowest.index;
    if (home != NO_INDEX) reason = row == home ? Reason.Home : Reason.Spill;
    sendTo(loads.slots[row], reason, request, <u32>estimate.heldAt(row), decision);
  }
}
