// SPDX-License-Identifier: Apache-2.0
// Texts that end soon after they begin, within a vector or a block: most do, and they need no state.
import { emptyBlocks, finishBlocks } from "../hash/block";
import { absorbLast, firstBytes, SHORT_TEXT_BYTES, shortText } from "../hash/text";
import { QUOTE } from "./bytes";
import {
  allPrintable,
  backslashMask,
  controlMask,
  escapedMask,
  plainLength,
  plainLetterMask,
  quoteMask,
  wideFirstMask,
  wideMask,
} from "./masks";
import { Token } from "./sink";

const VECTOR_BYTES: i32 = 16;

/**
 * Fills a token with the text at `p`, behind its opening quote: one load, one mask, one hash.
 * @returns the address behind its closing quote, or 0 for a text with escapes or of more than 15 bytes
 */
// @ts-ignore: decorator
@inline
export function readWord(p: usize, end: usize, token: Token): usize {
  const bytes = v128.load(p);
  const size = plainLength(bytes);
  const close = p + <usize>size;
  if (size == VECTOR_BYTES || close >= end || <i32>load<u8>(close) != QUOTE) return 0;
  token.hash = shortText(v128.and(bytes, firstBytes(size)), size);
  token.bytes = size;
  token.text = p;
  token.textBytes = size;
  token.escapes = 0;
  token.sample.clear();
  token.wideBytes = token.wideCharacters = 0;
  const wide = (<u32>i8x16.bitmask(bytes)) & ((1 << size) - 1);
  if (wide != 0) {
    const first = <u32>i8x16.bitmask(i8x16.ge_u(bytes, i8x16.splat(<i8>0xc0)));
    token.wideBytes = popcnt(wide);
    token.wideCharacters = popcnt(first & wide);
  }
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
  token.wideBytes = token.wideCharacters = 0;
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
  token.sample.clear();
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
