// SPDX-License-Identifier: Apache-2.0
// What a tokenizer makes of a text, told from a sample: 16 bytes of every 512.
import { join } from "./masks";

/** Bytes of canonical text for which one sample stands; a power of two and of blocks. */
export const SAMPLE_STRIDE: u32 = 512;

/** Weights are in 1/1024 of a token: fitted with a 200k vocabulary to source code, prose, JSON, logs and tables. */
export const WEIGHT_SHIFT: u64 = 10;
const LETTER: u64 = 209;
const DIGIT: u64 = 320;
/** Digits go in groups of three: the shorter the number, the dearer the digit. */
const FIRST_DIGIT: u64 = 1_010;
/** A row of marks or spaces; one space belongs to the word behind it. */
const MARKS: u64 = 910;
/** Between small and capital letter, or letter and digit, as in names, hashes and base64. */
const CHANGE: u64 = 966;

/** Vectors to compare with: a load is cheaper than a constant that is built anew. */
const VECTORS: usize = memory.data<u64>(
  [
    0x2020202020202020, 0x2020202020202020, 0x6161616161616161, 0x6161616161616161,
    0x1919191919191919, 0x1919191919191919, 0x3030303030303030, 0x3030303030303030,
    0x0909090909090909, 0x0909090909090909,
  ],
  16,
);
/** The bit that tells small letters from capitals is also the space. */
const CASE_BITS: usize = VECTORS;
const SMALL_LETTERS: usize = VECTORS + 16;
const LETTER_COUNT: usize = VECTORS + 32;
const DIGITS: usize = VECTORS + 48;
const DIGIT_COUNT: usize = VECTORS + 64;

/** In a vector the byte before the first one is not in sight. */
const NOT_FIRST: u64 = 0xfffefffefffefffe;
/** Samples that are weighed together. */
const BATCH: usize = 4;

export class TokenSample {
  /** ASCII bytes looked at, and what they weigh (nothing as long as there are none). */
  bytes: u32 = 0;
  weight: u64 = 0;

  // @ts-ignore: decorator
  @inline
  clear(): void {
    this.bytes = 0;
  }

  /** Looks at whole blocks of a text from `p` to `end`; `offset` is that of `p` in the text. */
  // @ts-ignore: decorator
  @inline
  addBlocks(p: usize, end: usize, offset: u32): void {
    p += (0 - offset) & (SAMPLE_STRIDE - 1);
    for (; p + (BATCH - 1) * SAMPLE_STRIDE < end; p += BATCH * SAMPLE_STRIDE) this.addFour(p);
    for (; p < end; p += SAMPLE_STRIDE) this.add(v128.load(p));
  }

  /** Looks at one vector of a text. */
  add(bytes: v128): void {
    this.weigh(
      (<u32>i8x16.bitmask(bytes)) ^ 0xffff,
      <u32>i8x16.bitmask(lettersOf(bytes)),
      <u32>i8x16.bitmask(caseOf(bytes)),
      <u32>i8x16.bitmask(digitsOf(bytes)),
      <u32>i8x16.bitmask(spacesOf(bytes)),
    );
  }

  /** Looks at four samples: counting bits is what costs, and four vectors have no more words of them than one. */
  private addFour(p: usize): void {
    const a = v128.load(p);
    const b = v128.load(p, <usize>SAMPLE_STRIDE);
    const c = v128.load(p, <usize>(2 * SAMPLE_STRIDE));
    const d = v128.load(p, <usize>(3 * SAMPLE_STRIDE));
    this.weigh(
      ~join(a, b, c, d),
      join(lettersOf(a), lettersOf(b), lettersOf(c), lettersOf(d)),
      join(caseOf(a), caseOf(b), caseOf(c), caseOf(d)),
      join(digitsOf(a), digitsOf(b), digitsOf(c), digitsOf(d)),
      join(spacesOf(a), spacesOf(b), spacesOf(c), spacesOf(d)),
    );
  }

  /** One bit a byte; `lower` says of letters that they are small ones. */
  // @ts-ignore: decorator
  @inline
  private weigh(ascii: u64, letters: u64, lower: u64, digits: u64, spaces: u64): void {
    const small = letters & lower;
    const spaceRows = spaces & (spaces << 1) & NOT_FIRST;
    const marks = (ascii & ~(letters | digits | spaces)) | spaceRows;
    const changes =
      (letters & (digits << 1)) | (digits & (letters << 1)) | (letters & ~small & (small << 1));
    if (this.bytes == 0) this.weight = 0;
    this.bytes += <u32>popcnt(ascii);
    this.weight +=
      LETTER * popcnt(letters) +
      DIGIT * popcnt(digits) +
      FIRST_DIGIT * popcnt(digits & ~(digits << 1) & NOT_FIRST) +
      MARKS * popcnt(marks & ~(marks << 1) & NOT_FIRST) +
      CHANGE * popcnt(changes & NOT_FIRST);
  }
}

// @ts-ignore: decorator
@inline
function lettersOf(bytes: v128): v128 {
  return within(v128.or(bytes, v128.load(CASE_BITS)), SMALL_LETTERS, LETTER_COUNT);
}

/** Bit 5 of a letter, which says that it is a small one, moved to bit 7. */
// @ts-ignore: decorator
@inline
function caseOf(bytes: v128): v128 {
  return i16x8.shl(bytes, 2);
}

// @ts-ignore: decorator
@inline
function digitsOf(bytes: v128): v128 {
  return within(bytes, DIGITS, DIGIT_COUNT);
}

// @ts-ignore: decorator
@inline
function spacesOf(bytes: v128): v128 {
  return i8x16.eq(bytes, v128.load(CASE_BITS));
}

/** Bytes from the one at `first` on, as many behind it as `count` says. */
// @ts-ignore: decorator
@inline
function within(bytes: v128, first: usize, count: usize): v128 {
  return i8x16.le_u(i8x16.sub(bytes, v128.load(first)), v128.load(count));
}
