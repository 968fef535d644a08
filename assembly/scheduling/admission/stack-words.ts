// SPDX-License-Identifier: Apache-2.0
// One session of a stack as a 32-bit word, and sums over rows of such words.

/** Tokens in the low bits; then requests in flight, first byte, resident, stop class. */
export const TOKENS: u32 = (1 << 24) - 1;
export const FLIGHT_UNIT: u32 = 1 << 24;
export const FLIGHTS: u32 = 15 << 24;
export const FIRST_BYTE: u32 = 1 << 28;
export const RESIDENT: u32 = 1 << 29;
export const STOP_SHIFT: u32 = 30;
export const STOP_BITS: u32 = 3 << 30;

/** Tokens as a word holds them. */
export function cut(tokens: f64): u32 {
  return <u32>min(<f64>TOKENS, max(0, tokens));
}

/** Tokens of all words from `from` to `to`. A lane holds 256 words of 24 bits, so 1,024 words cannot overflow. */
export function sumTokens(from: usize, to: usize): f64 {
  let sum = i32x4.splat(0);
  for (; from + 16 <= to; from += 16) sum = i32x4.add(sum, tokensOf(v128.load(from)));
  let rest: u64 = lanes(sum);
  for (; from < to; from += 4) rest += <u64>(load<u32>(from) & TOKENS);
  return <f64>rest;
}

/** Tokens of the words with a request in flight. */
export function sumFlying(from: usize, to: usize): f64 {
  let sum = i32x4.splat(0);
  for (; from + 16 <= to; from += 16) {
    const words = v128.load(from);
    sum = i32x4.add(sum, v128.andnot(tokensOf(words), landed(words)));
  }
  let rest: u64 = lanes(sum);
  for (; from < to; from += 4) {
    const word = load<u32>(from);
    if ((word & FLIGHTS) != 0) rest += <u64>(word & TOKENS);
  }
  return <f64>rest;
}

/** Tokens of the words that count as resident. */
export function sumResident(from: usize, to: usize): f64 {
  let sum = i32x4.splat(0);
  for (; from + 16 <= to; from += 16) {
    const words = v128.load(from);
    const absent = i32x4.eq(v128.and(words, i32x4.splat(RESIDENT)), i32x4.splat(0));
    sum = i32x4.add(sum, v128.andnot(tokensOf(words), absent));
  }
  let rest: u64 = lanes(sum);
  for (; from < to; from += 4) {
    const word = load<u32>(from);
    if ((word & RESIDENT) != 0) rest += <u64>(word & TOKENS);
  }
  return <f64>rest;
}

/** Tokens of the words that hold memory: all but those in flight without a first byte. */
export function sumHeld(from: usize, to: usize): f64 {
  let sum = i32x4.splat(0);
  for (; from + 16 <= to; from += 16) {
    const words = v128.load(from);
    const started = v128.not(i32x4.eq(v128.and(words, i32x4.splat(FIRST_BYTE)), i32x4.splat(0)));
    sum = i32x4.add(sum, v128.and(tokensOf(words), v128.or(landed(words), started)));
  }
  let rest: u64 = lanes(sum);
  for (; from < to; from += 4) {
    const word = load<u32>(from);
    if ((word & FLIGHTS) == 0 || (word & FIRST_BYTE) != 0) rest += <u64>(word & TOKENS);
  }
  return <f64>rest;
}

/** Whether a session of these four counts as resident and has no request in flight. */
// @ts-ignore: decorator
@inline
export function anyLandedResident(words: v128): bool {
  const resident = v128.and(words, i32x4.splat(RESIDENT));
  return v128.any_true(v128.and(resident, landed(words)));
}

/** Tokens of each of these four that has no request in flight, else 0. */
// @ts-ignore: decorator
@inline
export function landedTokens(words: v128): v128 {
  return v128.and(tokensOf(words), landed(words));
}

// @ts-ignore: decorator
@inline
function tokensOf(words: v128): v128 {
  return v128.and(words, i32x4.splat(TOKENS));
}

/** Lanes without a request in flight. */
// @ts-ignore: decorator
@inline
function landed(words: v128): v128 {
  return i32x4.eq(v128.and(words, i32x4.splat(FLIGHTS)), i32x4.splat(0));
}

/** Sum of four unsigned numbers. */
// @ts-ignore: decorator
@inline
export function lanes(sum: v128): u64 {
  return (
    <u64>(<u32>i32x4.extract_lane(sum, 0)) +
    <u64>(<u32>i32x4.extract_lane(sum, 1)) +
    <u64>(<u32>i32x4.extract_lane(sum, 2)) +
    <u64>(<u32>i32x4.extract_lane(sum, 3))
  );
}
