// SPDX-License-Identifier: Apache-2.0
// How much of an endpoint's capacity resident sessions may take, and how it follows a capacity that grows.
import { Capacity } from "./capacity";

/** The rest is for copies of dead sessions and for growth; 1.0 is a cliff. */
const SHARE: f64 = 0.9;
/** While requests are held back, the window probes upwards: twice as fast where no loss bounds the capacity. */
const PROBE_PER_SECOND: f64 = 0.0003;
const UNBOUNDED_FACTOR: f64 = 2;
const MAX_PROBE: f64 = 0.3;
/** A window that has outgrown the capacity without a loss proves it stale: then the capacity itself grows, faster. */
const PROVEN_PROBE: f64 = 0.12;
const GROWTH_PER_SECOND: f64 = 0.004;
/** Share of an endpoint's time that reloads after losses may take; where it is more, the window shrinks. */
const RELOAD_SHARE: f64 = 0.03;

export class Window {
  /** Tokens that resident sessions may take; Infinity while no capacity is known. */
  tokens: f64 = Infinity;
  /** A request found no endpoint that fits since the last update. */
  limited: bool = false;
  /** Expected tokens that were not cached, since the last update. */
  lostTokens: f64 = 0;
  /** Share by which the window exceeds what is certain. */
  probe: f64 = 0;

  /**
   * Once per tick, after the capacity was estimated.
   * @param refillSeconds time to compute a lost token again
   */
  update(capacity: Capacity, refillSeconds: f64, elapsedSeconds: f64): void {
    if (this.limited && isFinite(capacity.tokens)) this.widen(capacity, elapsedSeconds);
    const reloadSeconds = this.lostTokens * refillSeconds;
    this.probe = max(0, this.probe - (PROBE_PER_SECOND / RELOAD_SHARE) * reloadSeconds);
    this.tokens = SHARE * capacity.tokens * (1 + this.probe);
    this.lostTokens = 0;
    this.limited = false;
  }

  /** A capacity that the operator gave, and the share of it that may be taken (0 = the usual one). */
  fix(capacity: Capacity, capacityTokens: f64, share: f64): void {
    capacity.tokens = capacityTokens;
    this.tokens = (share > 0 ? share : SHARE) * capacityTokens;
    this.limited = false;
    this.lostTokens = 0;
  }

  private widen(capacity: Capacity, elapsedSeconds: f64): void {
    const isBounded = capacity.ceiling <= capacity.tokens;
    if (this.probe >= PROVEN_PROBE && !isBounded) {
      const grown = capacity.tokens * (1 + GROWTH_PER_SECOND * elapsedSeconds);
      capacity.tokens = min(capacity.ceiling, grown);
      return;
    }
    const rate = isBounded ? PROBE_PER_SECOND : UNBOUNDED_FACTOR * PROBE_PER_SECOND;
    this.probe = min(MAX_PROBE, this.probe + rate * elapsedSeconds);
  }
}
