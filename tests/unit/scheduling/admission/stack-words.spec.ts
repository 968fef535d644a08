// SPDX-License-Identifier: Apache-2.0
// The vector sums over a stack against plain loops.
import {
  cut,
  FIRST_BYTE,
  FLIGHTS,
  RESIDENT,
  sumFlying,
  sumHeld,
  sumResident,
  sumTokens,
  TOKENS,
} from "../../../../assembly/scheduling/admission/stack-words";

const MAX_WORDS: i32 = 400;

class Sums {
  all: f64 = 0;
  flying: f64 = 0;
  held: f64 = 0;
  resident: f64 = 0;

  add(word: u32): void {
    const tokens = <f64>(word & TOKENS);
    const flies = (word & FLIGHTS) != 0;
    this.all += tokens;
    if (flies) this.flying += tokens;
    if (!flies || (word & FIRST_BYTE) != 0) this.held += tokens;
    if ((word & RESIDENT) != 0) this.resident += tokens;
  }
}

describe("sums over a stack", () => {
  it("equal those of a plain loop, for any range", () => {
    const words = new StaticArray<u32>(MAX_WORDS);
    let seed: u32 = 5;
    for (let i = 0; i < MAX_WORDS; i++) {
      seed = seed * 1664525 + 1013904223;
      words[i] = seed;
    }
    const start = changetype<usize>(words);
    for (let first = 0; first < 5; first++) {
      for (let count = 0; count < 24; count++) {
        const sums = new Sums();
        for (let i = first; i < first + count; i++) sums.add(words[i]);
        const from = start + <usize>(4 * first);
        const to = from + <usize>(4 * count);
        expect(sumTokens(from, to)).toBe(sums.all);
        expect(sumFlying(from, to)).toBe(sums.flying);
        expect(sumHeld(from, to)).toBe(sums.held);
        expect(sumResident(from, to)).toBe(sums.resident);
      }
    }
  });

  it("do not overflow where every session is as large as a word can say", () => {
    const words = new StaticArray<u32>(MAX_WORDS);
    for (let i = 0; i < MAX_WORDS; i++) words[i] = 0xffffffff;
    const start = changetype<usize>(words);
    const end = start + <usize>(4 * MAX_WORDS);
    expect(sumTokens(start, end)).toBe(<f64>MAX_WORDS * <f64>TOKENS);
    expect(sumResident(start, end)).toBe(<f64>MAX_WORDS * <f64>TOKENS);
  });

  it("take any number for tokens", () => {
    expect(cut(-1)).toBe(0);
    expect(cut(1e12)).toBe(TOKENS);
    expect(cut(51_000.7)).toBe(51_000);
  });
});
