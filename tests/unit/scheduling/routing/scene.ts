// SPDX-License-Identifier: Apache-2.0
// One request before a small fleet, as the specs of the policies set it up.
import { Homes } from "../../../../assembly/memory/homes";
import { Learned } from "../../../../assembly/memory/learned";
import { Loads } from "../../../../assembly/memory/loads";
import { Request } from "../../../../assembly/request/request";
import { Decision } from "../../../../assembly/scheduling/decision";
import { RoutingOptions } from "../../../../assembly/scheduling/routing/options";
import { Policy } from "../../../../assembly/scheduling/routing/policy";

export const NOW_MS: u64 = 1_000_000;

export class Scene {
  request: Request = new Request();
  homes: Homes = new Homes();
  loads: Loads = new Loads();
  decision: Decision = new Decision();
  options: RoutingOptions = new RoutingOptions();
  learned: Learned = new Learned();

  /** An idle fleet with slots 10, 11, ... and a first turn of so many prompt tokens. */
  constructor(endpoints: i32, promptTokens: u32) {
    this.loads.count = endpoints;
    this.loads.complete = true;
    for (let i = 0; i < endpoints; i++) {
      this.loads.slots[i] = 10 + i;
      this.loads.endpoints[i] = 0x9e3779b97f4a7c15 * <u64>(i + 1);
    }
    this.request.turn = 1;
    this.request.promptTokens = promptTokens;
  }

  /** Row `row` carries q pending prefill tokens, f context tokens, b requests, r committed tokens. */
  load(row: i32, q: f64, f: f64 = 0, b: i32 = 0, r: f64 = 0): Scene {
    this.loads.pendingPrefill[row] = q;
    this.loads.context[row] = f;
    this.loads.inFlight[row] = b;
    this.loads.committed[row] = r;
    return this;
  }

  /** Makes the request a verified follow-up whose prefix is held by one more row. */
  home(row: i32, prefixTokens: u32, servedMs: u64 = NOW_MS - 5_000): Scene {
    const homes = this.homes;
    homes.slots[homes.count] = this.loads.slots[row];
    homes.prefixTokens[homes.count] = prefixTokens;
    homes.servedMs[homes.count] = servedMs;
    homes.count += 1;
    homes.verifiedTurn = 3;
    homes.seenTokens = max(homes.seenTokens, prefixTokens);
    this.request.turn = 3;
    return this;
  }

  /** The slot that the policy chooses. */
  pick(policy: Policy, chance: u64 = 1): i32 {
    policy.pick(this.request, this.homes, this.loads, NOW_MS, chance, this.decision);
    return this.decision.slot;
  }
}
