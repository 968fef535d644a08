// SPDX-License-Identifier: Apache-2.0
// Bit masks over 64 bytes of JSON text, one bit a byte, the first byte lowest; each beside its scalar oracle.
import { BACKSLASH, LOWER_F, LOWER_N, LOWER_R, LOWER_T, QUOTE, SPACE } from "./bytes";

/**
 * Vectors to compare with, one a row. They are loaded, not constants: V8 builds a constant anew in every turn of a
 * loop, and a load is one instruction.
 */
const VECTORS: usize = memory.data<u64>(
  [
    0x2222222222222222, 0x2222222222222222, 0x5c5c5c5c5c5c5c5c, 0x5c5c5c5c5c5c5c5c,
    0x1f1f1f1f1f1f1f1f, 0x1f1f1f1f1f1f1f1f, 0xc0c0c0c0c0c0c0c0, 0xc0c0c0c0c0c0c0c0,
    0x0f0f0f0f0f0f0f0f, 0x0f0f0f0f0f0f0f0f, 0x006600740072ffff, 0x006e005c00000000,
    0x6e6e6e6e6e6e6e6e, 0x6e6e6e6e6e6e6e6e, 0x2020202020202020, 0x2020202020202020,
  ],
  16,
);
const QUOTES: usize = VECTORS;
const BACKSLASHES: usize = VECTORS + 16;
const LAST_CONTROLS: usize = VECTORS + 32;
const WIDE_FIRSTS: usize = VECTORS + 48;
const LOW_HALVES: usize = VECTORS + 64;
/** Plain letters by their low half. */
const LETTERS: usize = VECTORS + 80;
const LINE_LETTERS: usize = VECTORS + 96;
const SPACES: usize = VECTORS + 112;

const ODD_BITS: u64 = 0xaaaaaaaaaaaaaaaa;

/** One bit a byte, of four vectors of which the highest bit of each byte counts. */
// @ts-ignore: decorator
@inline
export function join(a: v128, b: v128, c: v128, d: v128): u64 {
  return (
    (<u64>(<u32>i8x16.bitmask(a))) |
    ((<u64>(<u32>i8x16.bitmask(b))) << 16) |
    ((<u64>(<u32>i8x16.bitmask(c))) << 32) |
    ((<u64>(<u32>i8x16.bitmask(d))) << 48)
  );
}

// @ts-ignore: decorator
@inline
export function quoteMask(a: v128, b: v128, c: v128, d: v128): u64 {
  const quotes = v128.load(QUOTES);
  return join(i8x16.eq(a, quotes), i8x16.eq(b, quotes), i8x16.eq(c, quotes), i8x16.eq(d, quotes));
}

// @ts-ignore: decorator
@inline
export function backslashMask(a: v128, b: v128, c: v128, d: v128): u64 {
  const wanted = v128.load(BACKSLASHES);
  return join(i8x16.eq(a, wanted), i8x16.eq(b, wanted), i8x16.eq(c, wanted), i8x16.eq(d, wanted));
}

/** Control characters, which JSON forbids inside a text. */
// @ts-ignore: decorator
@inline
export function controlMask(a: v128, b: v128, c: v128, d: v128): u64 {
  const last = v128.load(LAST_CONTROLS);
  return join(i8x16.le_u(a, last), i8x16.le_u(b, last), i8x16.le_u(c, last), i8x16.le_u(d, last));
}

/** True when all bytes are ASCII and no control characters: as signed bytes, none is below the space. */
// @ts-ignore: decorator
@inline
export function allPrintable(a: v128, b: v128, c: v128, d: v128): bool {
  const lowest = i8x16.min_s(i8x16.min_s(a, b), i8x16.min_s(c, d));
  return i8x16.bitmask(i8x16.gt_s(lowest, v128.load(LAST_CONTROLS))) == 0xffff;
}

/** True when one of the bytes is a control character. */
// @ts-ignore: decorator
@inline
export function anyControl(a: v128, b: v128, c: v128, d: v128): bool {
  const lowest = i8x16.min_u(i8x16.min_u(a, b), i8x16.min_u(c, d));
  return v128.any_true(i8x16.le_u(lowest, v128.load(LAST_CONTROLS)));
}

/** Bytes of one vector before the first quote, backslash or control character. */
// @ts-ignore: decorator
@inline
export function plainLength(bytes: v128): i32 {
  const special = v128.or(
    v128.or(i8x16.eq(bytes, v128.load(QUOTES)), i8x16.eq(bytes, v128.load(BACKSLASHES))),
    i8x16.le_u(bytes, v128.load(LAST_CONTROLS)),
  );
  return <i32>ctz<u32>((<u32>i8x16.bitmask(special)) | 0x10000);
}

/** Backslashes, control characters and bytes outside ASCII of one vector, one bit each. */
// @ts-ignore: decorator
@inline
export function specialMask(bytes: v128): u32 {
  const backslashes = i8x16.eq(bytes, v128.load(BACKSLASHES));
  return i8x16.bitmask(v128.or(backslashes, i8x16.lt_s(bytes, v128.load(SPACES))));
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
  const first = v128.load(WIDE_FIRSTS);
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
  const halves = v128.and(bytes, v128.load(LOW_HALVES));
  return i8x16.eq(i8x16.swizzle(v128.load(LETTERS), halves), bytes);
}

/** Bytes that are quotes. */
// @ts-ignore: decorator
@inline
export function quotesOf(bytes: v128): v128 {
  return i8x16.eq(bytes, v128.load(QUOTES));
}

/** Bytes that are backslashes. */
// @ts-ignore: decorator
@inline
export function backslashesOf(bytes: v128): v128 {
  return i8x16.eq(bytes, v128.load(BACKSLASHES));
}

/** The lowest bytes of ASCII are controls, anything else is below zero. */
// @ts-ignore: decorator
@inline
export function printableOf(a: v128, b: v128, c: v128, d: v128): v128 {
  const lowest = i8x16.min_s(i8x16.min_s(a, b), i8x16.min_s(c, d));
  return i8x16.gt_s(lowest, v128.load(LAST_CONTROLS));
}

/** Escaped bytes that need a closer look, and quotes that are not escaped. */
// @ts-ignore: decorator
@inline
export function oddOf(bytes: v128, escaped: v128, quotes: v128): v128 {
  const lineFeeds = i8x16.eq(bytes, v128.load(LINE_LETTERS));
  return v128.andnot(v128.xor(escaped, quotes), lineFeeds);
}

/** Sum of all lanes, each 0..255. */
// @ts-ignore: decorator
@inline
export function sumOf(lanes: v128): u32 {
  const sums = i32x4.extadd_pairwise_i16x8_u(i16x8.extadd_pairwise_i8x16_u(lanes));
  const low = i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1);
  return low + i32x4.extract_lane(sums, 2) + i32x4.extract_lane(sums, 3);
}

/** Letters that `oddOf` lets pass. */
// @ts-ignore: decorator
@inline
export function isCommonLetter(byte: i32): bool {
  return byte == LOWER_N || byte == QUOTE;
}

/** Letters that are their own canonical form, the quote among them. Scalar oracle of `plainLetterMask`. */
export function isPlainLetter(byte: i32): bool {
  switch (byte) {
    case BACKSLASH:
    case LOWER_F:
    case LOWER_N:
    case LOWER_R:
    case LOWER_T:
    case QUOTE:
      return true;
    default:
      return false;
  }
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
      if (isPlainLetter(byte) && byte != QUOTE) this.plain |= bit;
      if (escaped) this.escaped |= bit;
      escaped = !escaped && byte == BACKSLASH;
    }
  }
}
