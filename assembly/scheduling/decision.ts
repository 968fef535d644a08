// SPDX-License-Identifier: Apache-2.0
// What a policy answers: an endpoint or none, and why.
import { Reason } from "../metrics/reason";

/** No endpoint named: Envoy's load balancer decides. */
export const NO_ENDPOINT: i32 = -1;

/** Reused from pick to pick. */
export class Decision {
  slot: i32 = NO_ENDPOINT;
  reason: Reason = Reason.None;
  /** Tokens of the prompt that the chosen endpoint must compute, as believed (all of it without an endpoint). */
  uncachedTokens: u32 = 0;

  set(slot: i32, reason: Reason): void {
    this.slot = slot;
    this.reason = reason;
  }

  clear(): void {
    this.set(NO_ENDPOINT, Reason.None);
    this.uncachedTokens = 0;
  }
}
