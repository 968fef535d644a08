// SPDX-License-Identifier: Apache-2.0
// Policy `agentix`: short prompts are balanced, long ones stay with their program.
import { Homes } from "../../memory/homes";
import { Loads } from "../../memory/loads";
import { Reason } from "../../metrics/reason";
import { Request } from "../../request/request";
import { Decision } from "../decision";
import { Estimate } from "./estimate";
import { Lowest } from "./lowest";
import { placedByEnvoy, RoutingOptions } from "./options";
import {
  candidateOf,
  isFollowUp,
  leaveToEnvoy,
  NO_INDEX,
  placementReason,
  Policy,
  sendTo,
} from "./policy";

/** Prompts whose head is at least this share hit as well on any endpoint (the paper's 75 % at 2,048 tokens). */
const SHARED_SHARE: f64 = 0.75;

/**
 * `short(L) ? least used : home of the program, else least used`; least used = fewest requests in flight.
 * Short is up to `short_prompt_tokens` (2,048 in the paper), or, with `auto`, a prompt that is three quarters
 * head. Source: Agentix (Autellix), arXiv 2502.13965, algorithm 2.
 */
export class Agentix extends Policy {
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
    this.estimate.reset(request, homes, loads, 0);
    const home = isFollowUp(homes) ? candidateOf(loads, homes.slots[0]) : NO_INDEX;
    const balanced = home == NO_INDEX || this.isShort(request);
    if (!balanced) {
      this.send(home, Reason.Home, request, loads, decision);
      return;
    }
    const reason = home == NO_INDEX ? placementReason(request) : Reason.Spill;
    if (placedByEnvoy(this.options, loads)) {
      leaveToEnvoy(request, reason, decision);
      return;
    }
    this.lowest.reset(chance);
    for (let i = 0; i < loads.count; i++) this.lowest.offer(i, <f64>loads.inFlight[i]);
    const row = this.lowest.index;
    this.send(row, row == home ? Reason.Home : reason, request, loads, decision);
  }

  private isShort(request: Request): bool {
    if (this.options.shortPromptTokens > 0) {
      return request.promptTokens <= this.options.shortPromptTokens;
    }
    return <f64>request.headTokens >= SHARED_SHARE * <f64>request.promptTokens;
  }

  private send(row: i32, reason: Reason, request: Request, loads: Loads, decision: Decision): void {
    sendTo(loads.slots[row], reason, request, <u32>this.estimate.heldAt(row), decision);
  }
}
