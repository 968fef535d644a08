// SPDX-License-Identifier: Apache-2.0
// Chance that is the same in each run.

/** xorshift32. */
export class Dice {
  constructor(private state: u32) {}

  below(limit: i32): i32 {
    this.state ^= this.state << 13;
    this.state ^= this.state >> 17;
    this.state ^= this.state << 5;
    return <i32>(this.state % <u32>limit);
  }
}
