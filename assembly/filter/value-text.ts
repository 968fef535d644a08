// SPDX-License-Identifier: Apache-2.0
// Header values written into a static buffer: decimal, hexadecimal, base64.

const CAPACITY: i32 = 1024;

/** Where values are written; valid until the next value. */
export const VALUE: usize = memory.data(CAPACITY);

const BASE64_TEXT = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE64: usize = memory.data(64);
for (let i = 0; i < BASE64_TEXT.length; i++) {
  store<u8>(BASE64 + i, <u8>BASE64_TEXT.charCodeAt(i));
}

/** Longest text that `writeBase64` takes: endpoint addresses are far shorter. */
export const MAX_BASE64_INPUT: u32 = 512;

/** Writes a number in decimal; returns the size. */
export function writeDecimal(value: u64): u32 {
  // Dividing 32 bits by a constant is a multiplication, and most numbers fit.
  return value <= u32.MAX_VALUE ? writeDigits<u32>(<u32>value) : writeDigits<u64>(value);
}

function writeDigits<T>(value: T): u32 {
  let digits: u32 = 1;
  for (let rest = value; rest >= 10; rest = <T>(rest / 10)) digits++;
  let rest = value;
  for (let i = digits; i > 0; i--) {
    store<u8>(VALUE + i - 1, <u8>(0x30 + (rest % 10)));
    rest = <T>(rest / 10);
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
  // "0" to "9" and "a" to "f".
  const digits = i64x2(0x3736353433323130, 0x6665646362613938);
  const bytes = i16x8.extend_low_i8x16_u(i64x2.splat(bswap(value)));
  const low = i16x8.shl(v128.and(bytes, i16x8.splat(15)), 8);
  const nibbles = v128.or(i16x8.shr_u(bytes, 4), low);
  v128.store(VALUE, i8x16.swizzle(digits, nibbles));
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
      const digit = k <= left ? load<u8>(BASE64 + <usize>((bits >> (18 - 6 * k)) & 63)) : 0x3d;
      store<u8>(VALUE + out + k, digit);
    }
    out += 4;
  }
  return out;
}
