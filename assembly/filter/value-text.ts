// SPDX-License-Identifier: Apache-2.0
// Header values written into a static buffer: decimal, hexadecimal, base64.

const CAPACITY: i32 = 1024;

/** Where values are written; valid until the next value. */
export const VALUE: usize = memory.data(CAPACITY);

const HEX = "0123456789abcdef";
const BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Longest text that `writeBase64` takes: endpoint addresses are far shorter. */
export const MAX_BASE64_INPUT: u32 = 512;

/** Writes a number in decimal; returns the size. */
export function writeDecimal(value: u64): u32 {
  let digits: u32 = 1;
  for (let rest = value; rest >= 10; rest /= 10) digits++;
  let rest = value;
  for (let i = digits; i > 0; i--) {
    store<u8>(VALUE + i - 1, <u8>(0x30 + (rest % 10)));
    rest /= 10;
  }
  return digits;
}

/** Writes a number in decimal with its sign; returns the size. */
export function writeSigned(value: i32): u32 {
  if (value >= 0) return writeDecimal(<u64>value);
  const digits = writeDecimal(<u64>-(<i64>value));
  memory.copy(VALUE + 1, VALUE, digits);
  store<u8>(VALUE, 0x2d);
  return digits + 1;
}

/** Writes 64 bits as 16 hexadecimal digits; returns the size. */
export function writeHex(value: u64): u32 {
  for (let i = 0; i < 16; i++) {
    const nibble = <i32>((value >> (60 - 4 * i)) & 15);
    store<u8>(VALUE + i, <u8>HEX.charCodeAt(nibble));
  }
  return 16;
}

/** Writes text as base64 with padding (RFC 4648); returns the size, 0 when the text is too long. */
export function writeBase64(address: usize, size: u32): u32 {
  if (size > MAX_BASE64_INPUT) return 0;
  let out: u32 = 0;
  for (let i: u32 = 0; i < size; i += 3) {
    const left = size - i;
    const a = <u32>load<u8>(address + i);
    const b = left > 1 ? <u32>load<u8>(address + i + 1) : 0;
    const c = left > 2 ? <u32>load<u8>(address + i + 2) : 0;
    const bits = (a << 16) | (b << 8) | c;
    for (let k: u32 = 0; k < 4; k++) {
      const digit = k <= left ? <u8>BASE64.charCodeAt((bits >> (18 - 6 * k)) & 63) : 0x3d;
      store<u8>(VALUE + out + k, digit);
    }
    out += 4;
  }
  return out;
}
