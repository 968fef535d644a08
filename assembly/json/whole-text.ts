// SPDX-License-Identifier: Apache-2.0
// Texts that end soon after they begin, within a vector or a block: most do, and they need no state.
import { emptyBlocks, finishBlocks } from "../hash/block";
import { absorbLast, firstBytes, SHORT_TEXT_BYTES, shortText } from "../hash/text";
import {
  allPrintable,
  backslashMask,
  controlMask,
  escapedMask,
  plainLetterMask,
  quoteMask,
  quotesOf,
  specialMask,
  wideFirstMask,
  wideMask,
} from "./masks";
import { Token } from "./sink";

/** Words seen lately and their hashes: bodies say the same few dozen over and over. One row each, of 32 bytes. */
const WORD_ROWS_LOG: i32 = 9;
const WORDS: usize = memory.data(32 << 9, 16);
forgetWords();

/** The row of an empty text is as good as any other. */
function forgetWords(): void {
  memory.fill(WORDS, 0, 32 << WORD_ROWS_LOG);
  const empty = shortText(i8x16.splat(0), 0);
  for (let row = 0; row < 1 << WORD_ROWS_LOG; row++) store<u64>(WORDS + (row << 5), empty, 16);
}

/**
 * The hash of a short text, looked up: what is said of a word waits for its hash, and the look-up is there in a
 * third of the time that two rounds of mixing take one after the other.
 */
// @ts-ignore: decorator
@inline
function hashWord(p: usize, word: v128, size: i32): u64 {
  // What follows a short word may put it in several rows. That takes no waiting for its end.
  const spread = <usize>((load<u64>(p) * 0x9e3779b97f4a7c15) >> (64 - WORD_ROWS_LOG));
  const row = WORDS + ((spread ^ (<usize>size)) << 5);
  if (!v128.any_true(v128.xor(word, v128.load(row)))) return load<u64>(row, 16);
  const hash = shortText(word, size);
  v128.store(row, word);
  store<u64>(row, hash, 16);
  return hash;
}

/**
 * Fills a token with the text at `p`, behind its opening quote: one load, one mask, one hash. It has no details.
 * @returns the address behind its closing quote, or 0 for a text of more than 15 bytes, or other than plain ASCII
 */
// @ts-ignore: decorator
@inline
export function readWord(p: usize, end: usize, token: Token): usize {
  const bytes = v128.load(p);
  // The next token waits for the place of the quote, so nothing else is asked on the way to it.
  const quotes = <u32>i8x16.bitmask(quotesOf(bytes));
  if (quotes == 0) return 0;
  const size = <i32>ctz(quotes);
  const close = p + <usize>size;
  if (close >= end || (specialMask(bytes) & (quotes - 1) & ~quotes) != 0) return 0;
  const word = v128.and(bytes, firstBytes(size));
  token.hash = hashWord(p, word, size);
  token.bytes = size;
  token.text = p;
  token.textBytes = size;
  return close + 1;
}

/**
 * The same for a text of up to 63 bytes, with escapes that are canonical as they stand.
 * @param keep its decoded bytes are wanted
 * @returns 0 for any other text
 */
export function readLine(p: usize, end: usize, token: Token, keep: bool): usize {
  const a = v128.load(p);
  const b = v128.load(p, 16);
  const c = v128.load(p, 32);
  const d = v128.load(p, 48);
  let closing = quoteMask(a, b, c, d);
  if (closing == 0) return 0;
  const backslashes = backslashMask(a, b, c, d);
  let escapes: u32 = 0;
  if (backslashes & below(closing)) {
    if (keep) return 0;
    const letters = escapedMask(backslashes, 0);
    const plain = plainLetterMask(a, b, c, d) | closing;
    closing &= ~letters;
    if (closing == 0 || (letters & ~plain & below(closing)) != 0) return 0;
    escapes = <u32>popcnt(backslashes & ~letters & below(closing));
  }
  const size = <i32>ctz(closing);
  const close = p + <usize>size;
  if (close >= end) return 0;
  if (!allPrintable(a, b, c, d)) {
    const within = below(closing);
    if (controlMask(a, b, c, d) & within) return 0;
    token.wideBytes = <u32>popcnt(wideMask(a, b, c, d) & within);
    token.wideCharacters = <u32>popcnt(wideFirstMask(a, b, c, d) & within);
  }
  token.hash =
    size <= SHORT_TEXT_BYTES
      ? shortText(v128.and(a, firstBytes(size)), size)
      : finishBlocks(absorbLast(emptyBlocks(), a, b, c, d, size), size);
  token.bytes = <u32>size - escapes;
  token.escapes = escapes;
  token.text = p;
  token.textBytes = keep ? size : 0;
  return close + 1;
}

/** The bits below the lowest one of a mask that is not 0. */
// @ts-ignore: decorator
@inline
function below(mask: u64): u64 {
  return (mask - 1) & ~mask;
}
