// SPDX-License-Identifier: Apache-2.0
// Seeded chance: the same seed gives the same run.

/** A source of chance; `next` answers a number in [0, 1). */
export interface Random {
  next(): number;
  /** An integer in [0, limit). */
  below(limit: number): number;
}

/** Mulberry32: 32 bits of state, good enough for load-balancer picks. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return { next, below: (limit) => Math.floor(next() * limit) };
}
