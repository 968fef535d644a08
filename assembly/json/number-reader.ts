// SPDX-License-Identifier: Apache-2.0
// Reads one number and gives it a hash by value: 1000, 1000.0 and 1e3 are the same.
import { fold, mix } from "../hash/mix";
import { isDigit, LOWER_E, MINUS, PLUS, POINT, ZERO } from "./bytes";
import { Progress } from "./progress";

/** Longer numbers are refused: a number is read only when all of it is in sight. */
export const MAX_NUMBER_BYTES: i32 = 120;

/** Decimal digits that always fit into 64 bits. */
const MAX_DIGITS: i32 = 19;
/** Exponents beyond this are all the same: infinity or zero for every reader. */
const MAX_EXPONENT: i32 = 100_000;
/** Powers of ten that a 64-bit float holds exactly. */
const MAX_EXACT_POWER: i32 = 22;
const EXACT_INTEGER: u64 = 1 << 53;
const NUMBER: u64 = 0x5851f42d4c957f2d;

export class NumberReader {
  /** Of the last read: Done, NeedMore (the end is not in sight) or Malformed. */
  progress: Progress = Progress.NeedMore;
  hash: u64 = 0;
  value: f64 = 0;

  /** Significant digits without trailing zeros; those beyond MAX_DIGITS are only hashed. */
  private digits: u64 = 0;
  private digitCount: i32 = 0;
  private excess: u64 = 0;
  /** Digits read, and read when the last significant one came. */
  private read: i32 = 0;
  private lastSignificant: i32 = 0;

  /** Reads the number at `p` and returns the address behind it. */
  readNumber(p: usize, end: usize): usize {
    this.digits = this.excess = 0;
    this.digitCount = this.read = this.lastSignificant = 0;
    this.progress = Progress.Malformed;
    const start = p;
    const negative = <i32>load<u8>(p) == MINUS;
    if (negative) p++;
    const whole = p;
    p = this.takeDigits(p, end);
    if (p < end && (p == whole || (<i32>load<u8>(whole) == ZERO && p > whole + 1))) return p;
    const wholeDigits = this.read;
    if (p < end && <i32>load<u8>(p) == POINT) {
      const fraction = ++p;
      p = this.takeDigits(p, end);
      if (p < end && p == fraction) return p;
    }
    let exponent: i32 = 0;
    if (p < end && ((<i32>load<u8>(p)) | 0x20) == LOWER_E) {
      p++;
      const sign = p < end ? <i32>load<u8>(p) : 0;
      if (sign == PLUS || sign == MINUS) p++;
      const first = p;
      while (p < end && isDigit(load<u8>(p))) {
        exponent = min(exponent * 10 + <i32>load<u8>(p) - ZERO, MAX_EXPONENT);
        p++;
      }
      if (p < end && p == first) return p;
      if (sign == MINUS) exponent = -exponent;
    }
    if (p - start > <usize>MAX_NUMBER_BYTES) return p;
    if (p >= end) {
      this.progress = Progress.NeedMore;
      return p;
    }
    this.finish(negative, exponent + wholeDigits - this.lastSignificant);
    return p;
  }

  private takeDigits(p: usize, end: usize): usize {
    while (p < end) {
      const byte = <i32>load<u8>(p);
      if (!isDigit(byte)) break;
      this.read++;
      if (byte != ZERO) this.takeSignificant(byte - ZERO);
      p++;
    }
    return p;
  }

  /** Zeros count only once a later digit proves that they are not trailing (nor leading) ones. */
  private takeSignificant(digit: i32): void {
    if (this.digitCount > 0) {
      for (let place = this.lastSignificant + 1; place < this.read; place++) this.push(0);
    }
    this.push(digit);
    this.lastSignificant = this.read;
  }

  private push(digit: i32): void {
    if (this.digitCount < MAX_DIGITS) this.digits = this.digits * 10 + <u64>digit;
    else this.excess = fold(this.excess, digit);
    this.digitCount++;
  }

  private finish(negative: bool, scale: i32): void {
    this.progress = Progress.Done;
    this.hash = NUMBER;
    this.value = 0;
    if (this.digits == 0) return;
    const shape = ((<u64>(<u32>scale)) << 1) | (negative ? 1 : 0);
    this.hash = mix(fold(fold(NUMBER, this.digits), shape) + this.excess);
    const magnitude = scaled(this.digits, scale + max(this.digitCount - MAX_DIGITS, 0));
    this.value = negative ? -magnitude : magnitude;
  }
}

/** `digits` times ten to the `scale`: exact where a float can be, else within a few units in the last place. */
function scaled(digits: u64, scale: i32): f64 {
  let value = <f64>digits;
  if (digits <= EXACT_INTEGER && abs(scale) <= MAX_EXACT_POWER) {
    return scale < 0 ? value / powerOfTen(-scale) : value * powerOfTen(scale);
  }
  let left = min(abs(scale), 2 * 400);
  while (left > 0) {
    const step = min(left, MAX_EXACT_POWER);
    value = scale < 0 ? value / powerOfTen(step) : value * powerOfTen(step);
    left -= step;
  }
  return value;
}

function powerOfTen(exponent: i32): f64 {
  let power: f64 = 1;
  for (let i = 0; i < exponent; i++) power *= 10;
  return power;
}
