// SPDX-License-Identifier: Apache-2.0
// One open object or array of a request body, and the hash that grows in it.
import { fold, member } from "../hash/mix";
import { Mark, Place } from "./place";
import { isUniform } from "./place-rules";
import { Tally } from "./tally";

/** Row of content parts: a text alone equals a list with this text as its only part. */
export const PARTS: u64 = 0x1f83d9abfb41bd6b;
const OBJECT: u64 = 0x9b05688c2b3e6c1f;
const ARRAY: u64 = 0x5be0cd19137e2179;

/** Reused from value to value: there is one per level. */
@final
export class Frame {
  place: Place = Place.Ignored;
  isArray: bool = false;
  /** All below stands at the same place: no key is looked up. */
  isUniform: bool = false;
  /** Members are a row: their order counts, and so do empty ones. */
  isOrdered: bool = false;
  /** Place of the next value. */
  child: Place = Place.Ignored;
  /** Hash of the last key. */
  key: u64 = 0;
  /** What members have come to. */
  sum: u64 = 0;
  /** Members that are not empty. */
  count: i32 = 0;
  /** Places that had a value, one bit each. */
  seen: u64 = 0;
  /** What the type of a part says. */
  mark: Mark = Mark.None;
  /** Text counted before this value, to take back what turns out not to count. */
  readonly before: Tally = new Tally();

  // @ts-ignore: decorator
  @inline
  open(place: Place, isArray: bool, child: Place): void {
    this.place = place;
    this.isArray = isArray;
    this.isUniform = isUniform(place);
    this.isOrdered = place == Place.Ordered || place == Place.Tool;
    this.child = child;
    this.key = this.seen = 0;
    this.sum = isArray && place == Place.Content ? PARTS : 0;
    this.count = 0;
    this.mark = Mark.None;
  }

  /** Takes over all but the text counted before. */
  // @ts-ignore: decorator
  @inline
  copyFrom(other: Frame): void {
    if (offsetof<Frame>("before") != 52)
      ERROR("the fields in front of `before` are more, or fewer");
    const to = changetype<usize>(this);
    const from = changetype<usize>(other);
    v128.store(to, v128.load(from));
    v128.store(to, v128.load(from, 16), 16);
    v128.store(to, v128.load(from, 32), 32);
    store<u32>(to, load<u32>(from, 48), 48);
  }

  /** Takes the value of a member or element. Empty ones count only where order does. */
  // @ts-ignore: decorator
  @inline
  give(value: u64, isEmpty: bool): void {
    if (this.isOrdered) {
      this.count++;
      this.sum = fold(this.isArray ? this.sum : fold(this.sum, this.key), value);
      return;
    }
    if (isEmpty) return;
    this.count++;
    if (this.isArray) this.sum = fold(this.sum, value);
    else this.sum += member(this.key, value);
  }

  /** Hash of the whole value. */
  get value(): u64 {
    if (this.place == Place.Content && this.isArray) return this.sum;
    return fold(this.isArray ? ARRAY : OBJECT, this.sum);
  }
}
