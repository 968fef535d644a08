// SPDX-License-Identifier: Apache-2.0
// The one hash of a text: keys, values and names in code all meet here.
import { absorbBlock, BLOCK_BYTES, emptyBlocks, finishBlocks } from "./block";
import { mix } from "./mix";

/** Up to this many bytes a text is hashed as two words; longer ones as blocks. */
export const SHORT_TEXT_BYTES: i32 = 15;

const SHORT: u64 = 0x8ebc6af09c88c6e3;

/** 64 bytes of ones, then 64 of zeros: a mask of the first n bytes starts at `ONES + 64 - n`. */
const ONES: usize = memory.data(128, 16);
memory.fill(ONES, 0xff, 64);

/** Mask of the first `bytes` (0..16) bytes of a vector. */
// @ts-ignore: decorator
@inline
export function firstBytes(bytes: i32): v128 {
  return v128.load(ONES + <usize>(64 - bytes));
}

/**
 * Hash of at most 15 bytes, given as a vector whose other bytes are zero. Two full rounds, one after each word:
 * with less, texts of 15 bytes that differ in two places collide.
 */
// @ts-ignore: decorator
@inline
export function shortText(text: v128, bytes: i32): u64 {
  const low = mix(i64x2.extract_lane(text, 0) + SHORT);
  return mix(low ^ i64x2.extract_lane(text, 1) ^ ((<u64>bytes) << 56));
}

/** Absorbs the last `bytes` (1..64) bytes of a text, the first of four vectors. */
// @ts-ignore: decorator
@inline
export function absorbLast(state: v128, a: v128, b: v128, c: v128, d: v128, bytes: i32): v128 {
  const mask = ONES + <usize>(64 - bytes);
  return absorbBlock(
    state,
    v128.and(a, v128.load(mask)),
    v128.and(b, v128.load(mask, 16)),
    v128.and(c, v128.load(mask, 32)),
    v128.and(d, v128.load(mask, 48)),
  );
}

/**
 * Hash of a whole text in canonical form: minimal JSON escapes, which for text without quotes, backslashes and
 * control characters is the text itself. 64 bytes after its end must be readable.
 */
export function hashText(address: usize, bytes: i32): u64 {
  if (bytes <= SHORT_TEXT_BYTES) {
    return shortText(v128.and(v128.load(address), firstBytes(bytes)), bytes);
  }
  let state = emptyBlocks();
  for (let left = bytes; left > 0; left -= BLOCK_BYTES) {
    const a = v128.load(address);
    const b = v128.load(address, 16);
    const c = v128.load(address, 32);
    const d = v128.load(address, 48);
    state =
      left < BLOCK_BYTES ? absorbLast(state, a, b, c, d, left) : absorbBlock(state, a, b, c, d);
    address += BLOCK_BYTES;
  }
  return finishBlocks(state, bytes);
}

const NAME_BYTES: i32 = 128;
const NAME: usize = memory.data(NAME_BYTES + BLOCK_BYTES, 16);

/** Hash of a name in code (ASCII, at most 128 characters, none that JSON escapes). */
export function hashName(name: string): u64 {
  assert(name.length <= NAME_BYTES);
  const bytes = <i32>String.UTF8.encodeUnsafe(changetype<usize>(name), name.length, NAME);
  return hashText(NAME, bytes);
}
