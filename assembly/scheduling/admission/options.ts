// SPDX-License-Identifier: Apache-2.0
// The few numbers of admission, with the defaults that the operator's configuration starts from.
import { HoldOrder } from "./held-queue";

export class AdmissionOptions {
  order: HoldOrder = HoldOrder.Fifo;
  /** KV tokens of an endpoint; 0 = measured from answers. */
  capacityTokens: f64 = 0;
  /** Share of a given capacity that resident sessions may take; 0 = the usual one. */
  windowShare: f64 = 0;
  /** A request is let through after this time; 0 = never. Below a minute admission gains nothing. */
  holdLimitMs: u64 = 300_000;
  /** Requests that may wait at once; more are let through. */
  maxHeld: i32 = 1_024;
  /** Beyond that, first turns are refused instead. */
  refuseFirstTurns: bool = false;
}
