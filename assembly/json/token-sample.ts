// SPDX-License-Identifier: Apache-2.0
// What a tokenizer makes of a text, told from a sample: 16 bytes of every 512.

/** Bytes of canonical text for which one sample stands; a power of two and of blocks. */
export const SAMPLE_STRIDE: u32 = 512;

/** Weights are in 1/1024 of a token: fitted with a 200k vocabulary to source code, prose, JSON, logs and tables. */
export const WEIGHT_SHIFT: u64 = 10;
const LETTER: u32 = 209;
const DIGIT: u32 = 320;
/** Digits go in groups of three: the shorter the number, the dearer the digit. */
const FIRST_DIGIT: u32 = 1_010;
/** A row of marks or spaces; one space belongs to the word behind it. */
const MARKS: u32 = 910;
/** Between small and capital letter, or letter and digit, as in names, hashes and base64. */
const CHANGE: u32 = 966;

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

const ALL_BYTES: u32 = 0xffff;
/** The byte before the first one is not in sight. */
const NOT_FIRST: u32 = 0xfffe;

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
    for (p += (0 - offset) & (SAMPLE_STRIDE - 1); p < end; p += SAMPLE_STRIDE) {
      this.add(v128.load(p));
    }
  }

  /** Looks at one vector of a text. */
  add(bytes: v128): void {
    const ascii = ~(<u32>i8x16.bitmask(bytes)) & ALL_BYTES;
    const letters = within(v128.or(bytes, v128.load(CASE_BITS)), SMALL_LETTERS, LETTER_COUNT);
    // Bit 5 of a letter, moved to bit 7, says that it is a small one.
    const small = letters & (<u32>i8x16.bitmask(i16x8.shl(bytes, 2)));
    const digits = within(bytes, DIGITS, DIGIT_COUNT);
    const spaces = <u32>i8x16.bitmask(i8x16.eq(bytes, v128.load(CASE_BITS)));
    const marks = (ascii & ~(letters | digits | spaces)) | (spaces & (spaces << 1));
    const changes =
      (letters & (digits << 1)) | (digits & (letters << 1)) | (letters & ~small & (small << 1));
    if (this.bytes == 0) this.weight = 0;
    this.bytes += popcnt(ascii);
    this.weight +=
      LETTER * popcnt(letters) +
      DIGIT * popcnt(digits) +
      FIRST_DIGIT * popcnt(digits & ~(digits << 1) & NOT_FIRST) +
      MARKS * popcnt(marks & ~(marks << 1) & NOT_FIRST) +
      CHANGE * popcnt(changes);
  }
}

/** Bytes from the one at `first` on, as many behind it as `count` says. */
// @ts-ignore: decorator
@inline
function within(bytes: v128, first: usize, count: usize): u32 {
  const distance = i8x16.sub(bytes, v128.load(first));
  return <u32>i8x16.bitmask(i8x16.le_u(distance, v128.load(count)));
}
