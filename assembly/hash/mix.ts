// SPDX-License-Identifier: Apache-2.0
// Mixing of 64-bit hashes: one value, an ordered row of values, a member of an unordered object.

const ROUND_0: u64 = 0xd6e8feb86659fd93;
const ROUND_1: u64 = 0xa0761d6478bd642f;
const ORDERED: u64 = 0x9e3779b97f4a7c15;
const MEMBER: u64 = 0xe7037ed1a0b428db;

/**
 * One full round: two multiplications, so that every input bit reaches every output bit. It is a bijection.
 * A single multiplication is not enough: a change in the top byte of a word then stays in a few bits, where a
 * change in the next word can cancel it.
 */
// @ts-ignore: decorator
@inline
export function mix(x: u64): u64 {
  x ^= x >> 32;
  x *= ROUND_0;
  x ^= x >> 29;
  x *= ROUND_1;
  return x ^ (x >> 32);
}

/** Appends one value to an ordered row: `fold(fold(seed, a), b)` differs from `fold(fold(seed, b), a)`. */
// @ts-ignore: decorator
@inline
export function fold(row: u64, value: u64): u64 {
  return mix(row * ORDERED + value);
}

/** One member of an object. Members are summed, so that the order of keys does not matter. */
// @ts-ignore: decorator
@inline
export function member(key: u64, value: u64): u64 {
  return mix(key * MEMBER + value);
}
