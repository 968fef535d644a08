// SPDX-License-Identifier: Apache-2.0
// Requests that go where Envoy says while a cluster has endpoints that have never served: so they are found.
import { Loads } from "../../memory/loads";

/** In the first period each missing endpoint gets a request; every period without a find doubles the next. */
const FIRST_PERIOD_MS: u64 = 1_000;
/** An endpoint that never answers must not switch admission off: it costs a request a minute. */
const LAST_PERIOD_MS: u64 = 64_000;

/** One per fleet and VM. */
export class Scouts {
  private missing: i32 = 0;
  private sent: i32 = 0;
  private periodMs: u64 = 0;
  private beganMs: u64 = 0;

  /** Whether a request that has no home goes without a place of its own. Counts it where it does. */
  takes(loads: Loads, nowMs: u64): bool {
    if (loads.count == 0) return true;
    if (loads.complete) return false;
    if (loads.missing != this.missing) this.begin(loads.missing, FIRST_PERIOD_MS, nowMs);
    else if (nowMs >= this.beganMs + this.periodMs) {
      this.begin(loads.missing, min(LAST_PERIOD_MS, 2 * this.periodMs), nowMs);
    }
    if (this.sent >= this.missing) return false;
    this.sent++;
    return true;
  }

  private begin(missing: i32, periodMs: u64, nowMs: u64): void {
    this.missing = missing;
    this.sent = 0;
    this.periodMs = periodMs;
    this.beganMs = nowMs;
  }
}
