// SPDX-License-Identifier: Apache-2.0
// Policy `smetric-v1`: the turn decides, unless the home carries twice the mean load or has lost the session.
import { Tier } from "../../config/options";
import { Homes } from "../../memory/homes";
import { Learned } from "../../memory/learned";
import { Loads } from "../../memory/loads";
import { Reason } from "../../metrics/reason";
import { Request } from "../../request/request";
import { Decision } from "../decision";
import { Estimate, returnedShare } from "./estimate";
import { Lowest } from "./lowest";
import { placedByEnvoy, RoutingOptions } from "./options";
import { leaveToEnvoy, NO_INDEX, placementReason, Policy, sendTo } from "./policy";

/**
 * Load f = tokens in flight, h = prefix held, m = prefix served before:
 *
 *     follow-up stays at argmax h  while  f <= overload_factor * mean f  and  h >= hit_ratio * m
 *     everything else: argmin f
 *
 * Source: SMetric, arXiv 2607.08565v1. The paper names no constants but "e.g. 2x" for the overload; without a
 * global tier (`tier: none`) the overload guard is off, since each move would recompute the whole context.
 */
export class SmetricV1 extends Policy {
  private estimate: Estimate = new Estimate();
  private lowest: Lowest = new Lowest();

  constructor(
    private options: RoutingOptions,
    private learned: Learned,
  ) {
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
    estimate.reset(request, homes, loads, returnedShare(this.options.tier, this.learned));
    const home = estimate.home;
    const evicted =
      home != NO_INDEX && estimate.heldAt(home) < this.options.hitRatio * estimate.seen;
    const warm = home != NO_INDEX && !evicted;
    if (warm && !this.overloaded(home, loads)) {
      sendTo(loads.slots[home], Reason.Home, request, <u32>estimate.heldAt(home), decision);
      return;
    }
    let reason = evicted ? Reason.Cold : warm ? Reason.Migrate : placementReason(request);
    if (!warm && placedByEnvoy(this.options, loads)) {
      leaveToEnvoy(request, reason, decision);
      return;
    }
    this.lowest.reset(chance);
    for (let i = 0; i < loads.count; i++) this.lowest.offer(i, loads.context[i]);
    const row = this.lowest.index;
    if (row == home) reason = Reason.Home;
    sendTo(loads.slots[row], reason, request, <u32>estimate.heldAt(row), decision);
  }

  private overloaded(home: i32, loads: Loads): bool {
    if (this.options.tier == Tier.None) return false;
    let sum: f64 = 0;
    for (let i = 0; i < loads.count; i++) sum += loads.context[i];
    return loads.context[home] * <f64>loads.count > this.options.overloadFactor * sum;
  }
}
