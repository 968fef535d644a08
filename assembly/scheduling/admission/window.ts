// SPDX-License-Identifier: Apache-2.0
// How much of an endpoint's capacity resident sessions may take, and how it follows a capacity that grows.
import { Capacity } from "./capacity";

/** The rest is for copies of dead sessions and for growth; 1.0 is a cliff. */
const SHARE: f64 = 0.9;
/** While requests are held back and nothing is lost, the window probes upwards. */
const PROBE_PER_SECOND: f64 = 0.0003;
const MAX_PROBE: f64 = 0.3;
/** Without any loss in memory the capacity itself is stale: it grows faster. */
const GROWTH_PER_SECOND: f64 = 0.004;
const LOSS_WEIGHT: f64 = 0.5;

export class Window {
  /** Tokens that resident sessions may take; Infinity while no capacity is known. */
  tokens: f64 = Infinity;
  /** A request found no endpoint that fits since the last update. */
  limited: bool = false;
  /** Expected tokens that were not cached, since the last update. */
  lostTokens: f64 = 0;
  /** Share by which the window exceeds what is certain. */
  probe: f64 = 0;

  /** Once per tick, after the capacity was estimated. */
  update(capacity: Capacity, elapsedSeconds: f64): void {
    if (!capacity.hasLoss) {
      if (this.limited && isFinite(capacity.tokens)) {
        capacity.tokens *= 1 + GROWTH_PER_SECOND * elapsedSeconds;
      }
      this.tokens = SHARE * capacity.tokens;
    } else {
      if (this.limited) this.probe = min(MAX_PROBE, this.probe + PROBE_PER_SECOND * elapsedSeconds);
      this.probe = max(0, this.probe - (LOSS_WEIGHT * this.lostTokens) / capacity.tokens);
      this.tokens = SHARE * capacity.tokens * (1 + this.probe);
      this.lostTokens = 0;
    }
    this.limited = false;
  }

  /** A capacity that the operator gave, and the share of it that may be taken (0 = the usual one). */
  fix(capacity: Capacity, capacityTokens: f64, share: f64): void {
    capacity.tokens = capacityTokens;
    this.tokens = (share > 0 ? share : SHARE) * capacityTokens;
    this.limited = false;
    this.lostTokens = 0;
  }
}
