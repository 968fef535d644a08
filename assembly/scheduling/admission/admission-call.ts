// SPDX-License-Identifier: Apache-2.0
// One request as admission sees it, from its arrival to its end.
import { NO_ENDPOINT } from "../decision";

/** One per stream, reused: `reset` before use. Tokens are f64 throughout: they are compared with capacities. */
export class AdmissionCall {
  /** Set by the owner: the stream that waits. */
  ticket: u32 = 0;
  session: u64 = 0;
  /** Requests of one tenant queue behind each other, not behind another tenant's. */
  tenant: u64 = 0;
  /** Slot of the session's home, or NO_ENDPOINT. */
  home: i32 = NO_ENDPOINT;
  promptTokens: f64 = 0;
  /** Set by admission: prompt tokens as estimated when the request left, the unit of stacks and capacities. */
  estimatedTokens: f64 = 0;
  /** Prefix that the home is expected to hold, head included. */
  expectedTokens: f64 = 0;
  /** Part of the prompt (head) that any endpoint of the application has cached. */
  sharedTokens: f64 = 0;

  /** Set by admission. When the session began, seconds since the epoch. */
  bornSeconds: u32 = 0;
  heldMs: u64 = 0;
  isHeld: bool = false;
  slot: i32 = NO_ENDPOINT;
  /** Tokens that the endpoint must compute, as predicted. */
  uncachedTokens: f64 = 0;
  /** Pending prefill of the endpoint when the request left, without itself. */
  queuedTokens: f64 = 0;
  /** The endpoint's stack knew the session, at this distance. */
  measured: bool = false;
  low: f64 = 0;
  high: f64 = 0;

  /** Neighbours in the queue. */
  next: AdmissionCall | null = null;
  previous: AdmissionCall | null = null;

  reset(): void {
    this.ticket = 0;
    this.session = 0;
    this.tenant = 0;
    this.home = NO_ENDPOINT;
    this.promptTokens = 0;
    this.estimatedTokens = 0;
    this.expectedTokens = 0;
    this.sharedTokens = 0;
    this.bornSeconds = 0;
    this.heldMs = 0;
    this.isHeld = false;
    this.slot = NO_ENDPOINT;
    this.uncachedTokens = 0;
    this.queuedTokens = 0;
    this.measured = false;
    this.low = 0;
    this.high = 0;
    this.next = null;
    this.previous = null;
  }
}
