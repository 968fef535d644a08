// SPDX-License-Identifier: Apache-2.0
// Rewrites one JSON escape into its canonical form: raw UTF-8, or the minimal escape where JSON demands one.
import {
  BACKSLASH,
  CARRIAGE_RETURN,
  hexValue,
  LINE_FEED,
  LOWER_B,
  LOWER_F,
  LOWER_N,
  LOWER_R,
  LOWER_T,
  LOWER_U,
  QUOTE,
  SLASH,
  SPACE,
  TAB,
} from "./bytes";
import { Progress } from "./progress";

/** Longest canonical form of one character: `\u001f`. */
export const MAX_CANONICAL_BYTES: i32 = 6;

/** `\u` and four digits. */
export const UNIT_BYTES: i32 = 6;
/** `\u` as a 16-bit load sees it. */
export const UNIT_BEGIN: u16 = 0x755c;
const REPLACEMENT: i32 = 0xfffd;
const BACKSPACE: i32 = 0x08;
const FORM_FEED: i32 = 0x0c;

export class EscapeReader {
  /** Why nothing was taken: NeedMore (not all in sight) or Malformed. */
  progress: Progress = Progress.NeedMore;
  /** Canonical bytes written, and how many of them decoding would take away. */
  written: i32 = 0;
  surplus: u32 = 0;

  /** Rewrites the escape at `p` to `target` and returns its length, or 0 with `progress` set. */
  readEscape(p: usize, end: usize, target: usize): i32 {
    this.progress = Progress.NeedMore;
    if (end - p < 2) return 0;
    const letter = <i32>load<u8>(p, 1);
    if (letter == LOWER_U) return this.readUnit(p, end, target);
    if (letter == SLASH) {
      store<u8>(target, <u8>SLASH);
      this.written = 1;
      this.surplus = 0;
      return 2;
    }
    if (!isMinimalLetter(letter)) {
      this.progress = Progress.Malformed;
      return 0;
    }
    this.writeMinimal(target, letter);
    return 2;
  }

  private readUnit(p: usize, end: usize, target: usize): i32 {
    if (end - p < <usize>UNIT_BYTES) return 0;
    const unit = unitAt(p);
    if (unit < 0) {
      this.progress = Progress.Malformed;
      return 0;
    }
    if (unit >= 0x800 && (unit & 0xf800) != 0xd800) {
      writeThreeBytes(target, unit);
      this.written = 3;
      this.surplus = 0;
      return UNIT_BYTES;
    }
    if ((unit & 0xfc00) == 0xd800) return this.readPair(p, end, target, unit);
    this.write(target, (unit & 0xf800) == 0xd800 ? REPLACEMENT : unit);
    return UNIT_BYTES;
  }

  /** A high surrogate joins the low one behind it; alone it stands for the replacement character. */
  private readPair(p: usize, end: usize, target: usize, high: i32): i32 {
    const second = p + <usize>UNIT_BYTES;
    const pairInSight = end - p >= <usize>(2 * UNIT_BYTES);
    let low = -1;
    if (pairInSight) {
      const isUnit = <i32>load<u8>(second) == BACKSLASH && <i32>load<u8>(second, 1) == LOWER_U;
      if (isUnit) low = unitAt(second);
    } else if (mayBeUnit(second, end)) {
      return 0;
    }
    if ((low & 0xfffffc00) != 0xdc00) {
      this.write(target, REPLACEMENT);
      return UNIT_BYTES;
    }
    this.write(target, 0x10000 + ((high & 0x3ff) << 10) + (low & 0x3ff));
    return 2 * UNIT_BYTES;
  }

  private write(target: usize, character: i32): void {
    if (character < 0x80) return this.writeAscii(target, character);
    this.surplus = 0;
    if (character < 0x800) {
      store<u8>(target, <u8>(0xc0 | (character >> 6)));
      store<u8>(target, <u8>(0x80 | (character & 0x3f)), 1);
      this.written = 2;
      return;
    }
    if (character < 0x10000) {
      writeThreeBytes(target, character);
      this.written = 3;
      return;
    }
    store<u8>(target, <u8>(0xf0 | (character >> 18)));
    store<u8>(target, <u8>(0x80 | ((character >> 12) & 0x3f)), 1);
    store<u8>(target, <u8>(0x80 | ((character >> 6) & 0x3f)), 2);
    store<u8>(target, <u8>(0x80 | (character & 0x3f)), 3);
    this.written = 4;
  }

  private writeAscii(target: usize, character: i32): void {
    if (character == QUOTE || character == BACKSLASH) return this.writeMinimal(target, character);
    if (isPlainAscii(character)) {
      store<u8>(target, <u8>character);
      this.written = 1;
      this.surplus = 0;
      return;
    }
    const letter = minimalLetter(character);
    if (letter != 0) return this.writeMinimal(target, letter);
    store<u32>(target, 0x3030755c); // \u00 in memory order
    store<u8>(target, <u8>(0x30 + (character >> 4)), 4);
    const digit = character & 15;
    store<u8>(target, <u8>(digit < 10 ? 0x30 + digit : 0x57 + digit), 5);
    this.written = MAX_CANONICAL_BYTES;
    this.surplus = MAX_CANONICAL_BYTES - 1;
  }

  private writeMinimal(target: usize, letter: i32): void {
    store<u8>(target, <u8>BACKSLASH);
    store<u8>(target, <u8>letter, 1);
    this.written = 2;
    this.surplus = 1;
  }
}

/** ASCII that JSON does not escape. */
// @ts-ignore: decorator
@inline
export function isPlainAscii(character: i32): bool {
  const isEscaped = character == QUOTE || character == BACKSLASH;
  return <u32>(character - SPACE) < 0x60 && !isEscaped;
}

/** Letters of escapes that are canonical. */
function isMinimalLetter(letter: i32): bool {
  switch (letter) {
    case QUOTE:
    case BACKSLASH:
    case LOWER_B:
    case LOWER_F:
    case LOWER_N:
    case LOWER_R:
    case LOWER_T:
      return true;
    default:
      return false;
  }
}

/** Letter of the minimal escape of a control character, or 0 for those that have none. */
function minimalLetter(character: i32): i32 {
  switch (character) {
    case BACKSPACE:
      return LOWER_B;
    case FORM_FEED:
      return LOWER_F;
    case LINE_FEED:
      return LOWER_N;
    case CARRIAGE_RETURN:
      return LOWER_R;
    case TAB:
      return LOWER_T;
    default:
      return 0;
  }
}

/** Character of a minimal letter, or 0 for a letter that stands for itself. */
export function minimalCharacter(letter: i32): i32 {
  switch (letter) {
    case LOWER_B:
      return BACKSPACE;
    case LOWER_F:
      return FORM_FEED;
    case LOWER_N:
      return LINE_FEED;
    case LOWER_R:
      return CARRIAGE_RETURN;
    case LOWER_T:
      return TAB;
    default:
      return letter;
  }
}

/** UTF-8 of a character of U+0800..U+FFFF; a fourth byte is overwritten. */
// @ts-ignore: decorator
@inline
export function writeThreeBytes(target: usize, character: i32): void {
  const bytes =
    0xe0 |
    (character >> 12) |
    ((0x80 | ((character >> 6) & 0x3f)) << 8) |
    ((0x80 | (character & 0x3f)) << 16);
  store<u32>(target, bytes);
}

/** Value of the four digits of the unit at `p`, negative when one is not hexadecimal. */
// @ts-ignore: decorator
@inline
export function unitAt(p: usize): i32 {
  return (
    (hexValue(load<u8>(p, 2)) << 12) |
    (hexValue(load<u8>(p, 3)) << 8) |
    (hexValue(load<u8>(p, 4)) << 4) |
    hexValue(load<u8>(p, 5))
  );
}

/** False when the bytes in sight already show that no `\u` follows. */
function mayBeUnit(p: usize, end: usize): bool {
  if (p < end && <i32>load<u8>(p) != BACKSLASH) return false;
  if (p + 1 < end && <i32>load<u8>(p, 1) != LOWER_U) return false;
  return true;
}
