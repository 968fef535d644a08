// SPDX-License-Identifier: Apache-2.0
// The cheapest of the candidates offered, equals chosen among by chance.
import { NO_INDEX } from "./policy";

/** Reused from pick to pick: `reset`, `offer` each candidate, read `index`. */
export class Lowest {
  /** Row of the cheapest candidate so far, or NO_INDEX. */
  index: i32 = NO_INDEX;
  cost: f64 = Infinity;
  /** Second criterion among equal costs. */
  tieCost: f64 = Infinity;
  private equals: u32 = 0;
  private chance: u64 = 0;

  reset(chance: u64): void {
    this.index = NO_INDEX;
    this.cost = Infinity;
    this.tieCost = Infinity;
    this.equals = 0;
    this.chance = chance;
  }

  /** Lower cost wins, then lower `tieCost`; each of several equals wins with the same probability. */
  offer(index: i32, cost: f64, tieCost: f64 = 0): void {
    if (cost > this.cost || (cost == this.cost && tieCost > this.tieCost)) return;
    if (cost < this.cost || tieCost < this.tieCost) {
      this.cost = cost;
      this.tieCost = tieCost;
      this.index = index;
      this.equals = 1;
      return;
    }
    this.equals += 1;
    if (this.draw() % this.equals == 0) this.index = index;
  }

  /** The next 32 bits of a linear congruential sequence (Knuth's MMIX constants) seeded with the chance given. */
  private draw(): u32 {
    this.chance = this.chance * 6364136223846793005 + 1442695040888963407;
    return <u32>(this.chance >> 32);
  }
}
