// SPDX-License-Identifier: Apache-2.0
// Searching the lines of an event stream, sixteen bytes at a time; each search beside its scalar oracle.
import {
  CARRIAGE_RETURN,
  COLON,
  isSpace,
  LINE_FEED,
  LOWER_E,
  LOWER_N,
  OPEN_BRACE,
  QUOTE,
} from "../json/bytes";

const BLOCK: usize = 16;

/** Address of the first line feed or carriage return, or `end`. */
export function lineEnd(start: usize, end: usize): usize {
  const feed = i8x16.splat(<i8>LINE_FEED);
  const back = i8x16.splat(<i8>CARRIAGE_RETURN);
  let p = start;
  for (; p + BLOCK <= end; p += BLOCK) {
    const bytes = v128.load(p);
    const mask = i8x16.bitmask(v128.or(i8x16.eq(bytes, feed), i8x16.eq(bytes, back)));
    if (mask != 0) return p + <usize>ctz(mask);
  }
  return lineEndScalar(p, end);
}

export function lineEndScalar(start: usize, end: usize): usize {
  let p = start;
  while (p < end && load<u8>(p) != LINE_FEED && load<u8>(p) != CARRIAGE_RETURN) p++;
  return p;
}

/**
 * Whether an event may say how its answer ends: it holds `usage":{` or `_reason":"`, white space allowed. Quotes
 * inside JSON texts are escaped, so a generated text cannot pass for such a key; a false alarm only costs a scan.
 */
export function mayConclude(start: usize, end: usize): bool {
  const quote = i8x16.splat(<i8>QUOTE);
  const lastE = i8x16.splat(<i8>LOWER_E);
  const lastN = i8x16.splat(<i8>LOWER_N);
  let p = start;
  for (; p + BLOCK + 1 <= end; p += BLOCK) {
    const bytes = v128.load(p);
    const letters = v128.or(i8x16.eq(bytes, lastE), i8x16.eq(bytes, lastN));
    let mask = i8x16.bitmask(v128.and(letters, i8x16.eq(v128.load(p, 1), quote)));
    while (mask != 0) {
      if (concludesAt(p + <usize>ctz(mask), start, end)) return true;
      mask &= mask - 1;
    }
  }
  return mayConcludeScalar(start, p, end);
}

/** The oracle: looks at every byte from `from` on. */
export function mayConcludeScalar(start: usize, from: usize, end: usize): bool {
  for (let p = from; p + 1 < end; p++) {
    const byte = <i32>load<u8>(p);
    if (byte != LOWER_E && byte != LOWER_N) continue;
    if (load<u8>(p + 1) == QUOTE && concludesAt(p, start, end)) return true;
  }
  return false;
}

const USAG: u32 = 0x67617375;
const REASO_LOW: u32 = 0x6165725f;
const REASO_HIGH: u16 = 0x6f73;

/** The last letter of a key stands at `p`, its closing quote behind it. */
function concludesAt(p: usize, start: usize, end: usize): bool {
  if (load<u8>(p) == LOWER_E) {
    if (p < start + 4 || load<u32>(p - 4) != USAG) return false;
    return valueStartsWith(p + 2, end, OPEN_BRACE);
  }
  if (p < start + 6 || load<u32>(p - 6) != REASO_LOW || load<u16>(p - 2) != REASO_HIGH)
    return false;
  return valueStartsWith(p + 2, end, QUOTE);
}

function valueStartsWith(p: usize, end: usize, byte: i32): bool {
  p = skipSpace(p, end);
  if (p >= end || load<u8>(p) != COLON) return false;
  p = skipSpace(p + 1, end);
  return p < end && load<u8>(p) == byte;
}

function skipSpace(p: usize, end: usize): usize {
  while (p < end && isSpace(<i32>load<u8>(p))) p++;
  return p;
}
