// SPDX-License-Identifier: Apache-2.0
// Bit masks over 64 bytes of JSON text, one bit a byte, the first byte lowest; each beside its scalar oracle.
import { BACKSLASH, LOWER_F, LOWER_N, LOWER_R, LOWER_T, QUOTE, SPACE } from "./bytes";

const ODD_BITS: u64 = 0xaaaaaaaaaaaaaaaa;

// @ts-ignore: decorator
@inline
function join(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    (<u64>(<u32>i8x16.bitmask(a))) |
    ((<u64>(<u32>i8x16.bitmask(b))) << 16) |
    ((<u64>(<u32>i8x16.bitmask(c))) << 32) |
    ((<u64>(<u32>i8x16.bitmask(d))) << 48)
  );
}

/** Bytes that equal `byte`. */
// @ts-ignore: decorator
@inline
export function equalMask(byte: i32, a: v128, b: v128, c: v128, d: v128): u64 {
  const wanted = i8x16.splat(<i8>byte);
  return join(i8x16.eq(a, wanted), i8x16.eq(b, wanted), i8x16.eq(c, wanted), i8x16.eq(d, wanted));
}

/** Control characters, which JSON forbids inside a text. */
// @ts-ignore: decorator
@inline
export function controlMask(a: v128, b: v128, c: v128, d: v128): u64 {
  const lowest = i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d));
  const space = i8x16.splat(<i8>SPACE);
  if (!v128.any_true(i8x16.lt_u(lowest, space))) return 0;
  return join(
    i8x16.lt_u(a, space),
    i8x16.lt_u(b, space),
    i8x16.lt_u(c, space),
    i8x16.lt_u(d, space),
  );
}

/** Bytes of characters outside ASCII. */
// @ts-ignore: decorator
@inline
export function wideMask(a: v128, b: v128, c: v128, d: v128): u64 {
  return join(a, b, c, d);
}

/** First bytes of characters outside ASCII. */
// @ts-ignore: decorator
@inline
export function wideFirstMask(a: v128, b: v128, c: v128, d: v128): u64 {
  const first = i8x16.splat(<i8>0xc0);
  return join(
    i8x16.ge_u(a, first),
    i8x16.ge_u(b, first),
    i8x16.ge_u(c, first),
    i8x16.ge_u(d, first),
  );
}

/** True when one of the bytes is outside ASCII. */
// @ts-ignore: decorator
@inline
export function anyWide(a: v128, b: v128, c: v128, d: v128): bool {
  return i8x16.bitmask(v128.or(v128.or(a, b), v128.or(c, d))) != 0;
}

/**
 * Of a mask of backslashes, the bytes that an odd row of them escapes; bit 0 of `escaped` says that the byte
 * before the block escapes the first one. A row's parity comes from one carry of a subtraction (simdjson).
 */
// @ts-ignore: decorator
@inline
export function escapedMask(backslash: u64, escaped: u64): u64 {
  const start = backslash & ~escaped;
  const terminal = (((start << 1) | ODD_BITS) - start) ^ ODD_BITS;
  return terminal ^ (backslash | escaped);
}

/**
 * Letters behind a backslash that are their own canonical form, apart from the quote: f n r t and backslash. One
 * table look-up by the low half of a byte. `b` shares its low half with `r`: it goes the slow way, as rare as it is.
 */
// @ts-ignore: decorator
@inline
export function plainLetterMask(a: v128, b: v128, c: v128, d: v128): u64 {
  return join(plainLetters(a), plainLetters(b), plainLetters(c), plainLetters(d));
}

// @ts-ignore: decorator
@inline
function plainLetters(bytes: v128): v128 {
  const letters = i8x16(-1, 0, 0x72, 0, 0x74, 0, 0x66, 0, 0, 0, 0, 0, 0x5c, 0, 0x6e, 0);
  return i8x16.eq(i8x16.swizzle(letters, v128.and(bytes, i8x16.splat(0x0f))), bytes);
}

/** Scalar oracle of `plainLetterMask`, for one byte. */
// @ts-ignore: decorator
@inline
export function isPlainLetter(byte: i32): bool {
  return (
    byte == LOWER_N || byte == BACKSLASH || byte == LOWER_T || byte == LOWER_R || byte == LOWER_F
  );
}

/** What one scalar pass over 64 bytes finds: the oracle of all the masks. */
export class ScalarMasks {
  quote: u64 = 0;
  backslash: u64 = 0;
  control: u64 = 0;
  wide: u64 = 0;
  wideFirst: u64 = 0;
  escaped: u64 = 0;
  plain: u64 = 0;

  read(block: usize, escapedBefore: bool): void {
    this.quote = this.backslash = this.control = this.wide = this.wideFirst = 0;
    this.escaped = this.plain = 0;
    let escaped = escapedBefore;
    for (let i = 0; i < 64; i++) {
      const byte = <i32>load<u8>(block + i);
      const bit: u64 = (<u64>1) << i;
      if (byte == QUOTE) this.quote |= bit;
      if (byte == BACKSLASH) this.backslash |= bit;
      if (byte < SPACE) this.control |= bit;
      if (byte >= 0x80) this.wide |= bit;
      if (byte >= 0xc0) this.wideFirst |= bit;
      if (isPlainLetter(byte)) this.plain |= bit;
      if (escaped) this.escaped |= bit;
      escaped = !escaped && byte == BACKSLASH;
    }
  }
}
