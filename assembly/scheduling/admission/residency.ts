// SPDX-License-Identifier: Apache-2.0
// How long a waiting session keeps its place, learned from how long sessions wait and what a reload costs.
import { sortAscending } from "./ascending";
import { STOP_CLASSES, StopClass } from "./stop-class";

const MAX_GAPS: i32 = 256;
const LEAST_GAPS: i32 = 20;
/** Until enough waits were seen: tools come back, users may not. */
const START_SECONDS: StaticArray<f64> = [120, 0, 120];

/**
 * Per stop class, over the last waits x: the time to live is the tau in {0, x_i} that minimises
 * `sum_{x <= tau} x + #{x > tau} (tau + refill)`, the time a place is taken plus the time lost by reloading; then
 * 5 % and a second are added. In small caches a minute of idle place costs more than a reload, in large ones less.
 */
export class Residency {
  private readonly gaps: StaticArray<f64> = new StaticArray<f64>(STOP_CLASSES * MAX_GAPS);
  private readonly counts: StaticArray<i32> = new StaticArray<i32>(STOP_CLASSES);
  private readonly nexts: StaticArray<i32> = new StaticArray<i32>(STOP_CLASSES);
  private readonly lives: StaticArray<f64> = new StaticArray<f64>(STOP_CLASSES);

  constructor() {
    for (let i = 0; i < STOP_CLASSES; i++) this.lives[i] = START_SECONDS[i];
  }

  /** Seconds that a session waiting for this reason keeps its place; 0 = none. */
  seconds(stop: StopClass): f64 {
    return this.lives[stop];
  }

  /** A session came back after a wait. */
  observe(stop: StopClass, gapSeconds: f64): void {
    const next = this.nexts[stop];
    this.gaps[stop * MAX_GAPS + next] = max(0, gapSeconds);
    this.nexts[stop] = (next + 1) % MAX_GAPS;
    this.counts[stop] = min(MAX_GAPS, this.counts[stop] + 1);
  }

  /** @param refillSeconds time to compute a window of tokens again. Costs a sort: call it from the tick. */
  estimate(refillSeconds: f64): void {
    for (let stop = 0; stop < STOP_CLASSES; stop++) {
      if (this.counts[stop] >= LEAST_GAPS) this.lives[stop] = this.cheapest(stop, refillSeconds);
    }
  }

  private cheapest(stop: i32, refillSeconds: f64): f64 {
    const count = this.counts[stop];
    for (let i = 0; i < count; i++) SORTED[i] = this.gaps[stop * MAX_GAPS + i];
    sortAscending(SORTED, count);
    let best: f64 = 0;
    let lowest = <f64>count * refillSeconds;
    let waited: f64 = 0;
    for (let i = 0; i < count; i++) {
      const tau = SORTED[i];
      waited += tau;
      if (i + 1 < count && SORTED[i + 1] == tau) continue;
      const cost = waited + <f64>(count - i - 1) * (tau + refillSeconds);
      if (cost >= lowest) continue;
      lowest = cost;
      best = tau;
    }
    return best == 0 ? 0 : 1.05 * best + 1;
  }
}

/** Scratch of `estimate`. */
const SORTED = new StaticArray<f64>(MAX_GAPS);
