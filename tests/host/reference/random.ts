// SPDX-License-Identifier: Apache-2.0
// Chance from a seed, so that every failure can be played again.

export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = (seed ^ 0x9e3779b9) >>> 0;
  }

  /** An integer from 0 to `limit - 1`. */
  below(limit: number): number {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let x = this.state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) % limit;
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  shuffle<T>(list: T[]): T[] {
    for (let i = list.length - 1; i > 0; i--) {
      const k = this.below(i + 1);
      [list[i], list[k]] = [list[k]!, list[i]!];
    }
    return list;
  }
}
