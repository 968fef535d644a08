// SPDX-License-Identifier: Apache-2.0
// Policy `smetric-v2`: the turn decides, unless the home cannot meet the TTFT objective or has lost the session.
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

/** Attention's share of prefill per token of context, in units of the linear part (30B-A3B: 4e-10 s / 5e-5 s). */
const ATTENTION_PER_TOKEN: f64 = 8e-6;
/** Mean context at which the learned seconds per uncached token hold. */
const REFERENCE_CONTEXT: f64 = 60_000;

/**
 * Predicted time to first token, n = tokens to compute, L = prompt, q = pending prefill, h = prefix held:
 *
 *     T(i) = c_lin (q_i + n_i) + c_attn n_i (L - n_i / 2) + c_fetch fetched_i
 *     follow-up stays at argmax h  while  T <= slack (1 s + 62.5 ms per 1,000 prompt tokens)  and  h >= hit_ratio * m
 *     it moves to argmin T; first turns and evicted sessions go to argmin c_lin q_i, then fewest in flight
 *
 * Source: SMetric, arXiv 2607.08565v2. Its constants are unpublished: the shape of T is the paper's, its scale
 * (c_lin + c_attn * 60,000, c_fetch) is learned from answers; slack and hit_ratio are 0.5.
 */
export class SmetricV2 extends Policy {
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
    if (home == NO_INDEX) {
      this.place(placementReason(request), request, loads, chance, decision);
    } else if (estimate.heldAt(home) < this.options.hitRatio * estimate.seen) {
      this.place(Reason.Cold, request, loads, chance, decision);
    } else if (this.ttftSeconds(home, loads) <= this.allowedSeconds()) {
      this.send(home, Reason.Home, request, loads, decision);
    } else {
      this.lowest.reset(chance);
      for (let i = 0; i < loads.count; i++) this.lowest.offer(i, this.ttftSeconds(i, loads));
      const row = this.lowest.index;
      this.send(row, row == home ? Reason.Home : Reason.Migrate, request, loads, decision);
    }
  }

  private place(
    reason: Reason,
    request: Request,
    loads: Loads,
    chance: u64,
    decision: Decision,
  ): void {
    if (placedByEnvoy(this.options, loads)) {
      leaveToEnvoy(request, reason, decision);
      return;
    }
    this.lowest.reset(chance);
    for (let i = 0; i < loads.count; i++) {
      this.lowest.offer(i, loads.pendingPrefill[i], <f64>loads.inFlight[i]);
    }
    this.send(this.lowest.index, reason, request, loads, decision);
  }

  private ttftSeconds(row: i32, loads: Loads): f64 {
    const linear = this.learned.uncachedSeconds / (1 + ATTENTION_PER_TOKEN * REFERENCE_CONTEXT);
    const tokens = this.estimate.uncachedAt(row);
    const context = this.estimate.prompt - tokens / 2;
    return (
      linear * (loads.pendingPrefill[row] + tokens + ATTENTION_PER_TOKEN * tokens * context) +
      this.learned.fetchedSeconds * this.estimate.fetchedAt(row)
    );
  }

  private allowedSeconds(): f64 {
    const options = this.options;
    const objective = options.ttftBaseSeconds + options.ttftPerTokenSeconds * this.estimate.prompt;
    return options.ttftSlack * objective;
  }

  private send(row: i32, reason: Reason, request: Request, loads: Loads, decision: Decision): void {
    const cached = this.estimate.prompt - this.estimate.uncachedAt(row);
    sendTo(loads.slots[row], reason, request, <u32>cached, decision);
  }
}
