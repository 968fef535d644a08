// SPDX-License-Identifier: Apache-2.0
// What one stream counts for in the gauges of its endpoint, so that it is taken back exactly once.
import { NO_SLOT } from "./roster";

/** Lives in the stream; `Fleet` alone changes it. */
export class InFlight {
  /** Slot that the numbers below are counted at; NO_SLOT = nothing is counted. */
  slot: i32 = NO_SLOT;
  pendingTokens: i64 = 0;
  contextTokens: i64 = 0;
}
