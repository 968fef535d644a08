// SPDX-License-Identifier: Apache-2.0
// Names of the bytes that mean something in JSON, and small questions about single bytes.

export const TAB: i32 = 0x09;
export const LINE_FEED: i32 = 0x0a;
export const CARRIAGE_RETURN: i32 = 0x0d;
export const SPACE: i32 = 0x20;
export const QUOTE: i32 = 0x22;
export const PLUS: i32 = 0x2b;
export const COMMA: i32 = 0x2c;
export const MINUS: i32 = 0x2d;
export const POINT: i32 = 0x2e;
export const SLASH: i32 = 0x2f;
export const ZERO: i32 = 0x30;
export const COLON: i32 = 0x3a;
export const OPEN_BRACKET: i32 = 0x5b;
export const BACKSLASH: i32 = 0x5c;
export const LOWER_B: i32 = 0x62;
export const LOWER_E: i32 = 0x65;
export const LOWER_F: i32 = 0x66;
export const LOWER_N: i32 = 0x6e;
export const LOWER_R: i32 = 0x72;
export const LOWER_T: i32 = 0x74;
export const LOWER_U: i32 = 0x75;
export const OPEN_BRACE: i32 = 0x7b;
export const CLOSE_BRACE: i32 = 0x7d;

/** First byte of the UTF-8 byte order mark EF BB BF. */
export const BOM_FIRST: i32 = 0xef;

/** White space of the JSON grammar. */
// @ts-ignore: decorator
@inline
export function isSpace(byte: i32): bool {
  return byte == SPACE || byte == LINE_FEED || byte == CARRIAGE_RETURN || byte == TAB;
}

// @ts-ignore: decorator
@inline
export function isDigit(byte: i32): bool {
  return <u32>(byte - ZERO) <= 9;
}

/** One of `{` and `[`, which differ in one bit. */
// @ts-ignore: decorator
@inline
export function isOpen(byte: i32): bool {
  return (byte | 0x20) == OPEN_BRACE;
}

/** One of `}` and `]`. */
// @ts-ignore: decorator
@inline
export function isClose(byte: i32): bool {
  return (byte | 0x20) == CLOSE_BRACE;
}

/** Value of a hexadecimal digit, or a negative number for any other byte. */
// @ts-ignore: decorator
@inline
export function hexValue(byte: i32): i32 {
  return load<i8>(HEX + <usize>byte);
}

/** One signed byte for each byte value. */
const HEX: usize = memory.data(256);
fillHex();

function fillHex(): void {
  memory.fill(HEX, 0xff, 256);
  for (let digit = 0; digit < 16; digit++) {
    const lower = digit < 10 ? ZERO + digit : 0x61 + digit - 10;
    const upper = digit < 10 ? lower : lower - 0x20;
    store<u8>(HEX + <usize>lower, <u8>digit);
    store<u8>(HEX + <usize>upper, <u8>digit);
  }
}
