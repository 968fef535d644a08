// SPDX-License-Identifier: Apache-2.0
// Any policy in a pool of prefill endpoints, where Envoy places nothing: what is left to it goes to the least busy.
import { Homes } from "../../memory/homes";
import { Loads } from "../../memory/loads";
import { Request } from "../../request/request";
import { Decision, NO_ENDPOINT } from "../decision";
import { Lowest } from "./lowest";
import { Policy, sendTo } from "./policy";

/**
 * `argmin b`, b = requests in flight, in place of Envoy's least request. Envoy chooses the decode endpoint there:
 * without a name the prompt would be computed where nobody looks for it next time.
 */
export class PrefillPool extends Policy {
  private lowest: Lowest = new Lowest();

  constructor(private policy: Policy) {
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
    this.policy.pick(request, homes, loads, nowMs, chance, decision);
    if (decision.slot != NO_ENDPOINT || loads.count == 0) return;
    this.lowest.reset(chance);
    for (let i = 0; i < loads.count; i++) this.lowest.offer(i, <f64>loads.inFlight[i]);
    const row = this.lowest.index;
    const cached = loads.headServed[row] ? request.headTokens : 0;
    sendTo(loads.slots[row], decision.reason, request, cached, decision);
  }
}
