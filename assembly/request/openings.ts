// SPDX-License-Identifier: Apache-2.0
// How items of a conversation begin over and over, and what reading such a beginning comes to.
import { Frame } from "./frame";
import { Item } from "./item";
import { Place } from "./place";
import { Tally } from "./tally";

/** Longest beginning that is told apart: three vectors. */
export const MAX_OPENING_BYTES: i32 = 48;
const VECTOR_BYTES: i32 = 16;

/** Beginnings of one format that share two bytes of the first value are in one row. */
const ROWS: i32 = 64;
const FORMATS: i32 = 4;
/** Where the first value begins in `{"role":"user"` and `{"type":"message"`. */
const VALUE_AT: usize = 9;

/** Items written without and with spaces; each ends behind a colon. */
export const CHAT_OPENINGS: string[] = [
  '{"role":"user","content":',
  '{"role":"assistant","content":',
  '{"role":"tool","tool_call_id":',
  '{"role":"tool","content":',
  '{"role":"system","content":',
  '{"role": "user", "content":',
  '{"role": "assistant", "content":',
  '{"role": "tool", "tool_call_id":',
  '{"role": "tool", "content":',
  '{"role": "system", "content":',
];
export const TYPED_OPENINGS: string[] = [
  '{"type":"message","role":"user","content":',
  '{"type":"message","role":"assistant","content":',
  '{"type":"function_call","call_id":',
  '{"type":"function_call_output","call_id":',
];

/** All that is changed by reading the beginning of an item, from `{` to a colon. */
export class Opening {
  readonly frame: Frame = new Frame();
  readonly item: Item = new Item();
  /** Text that was counted: keys that are printed. */
  readonly tally: Tally = new Tally();
  /** The text that follows is wanted. */
  wantsText: bool = false;
  /** The other beginnings of the row. */
  next: Opening | null = null;

  /** The text, and ones where there is text: three vectors each. */
  private readonly bytes: StaticArray<u8> = new StaticArray<u8>(2 * MAX_OPENING_BYTES);

  constructor(
    address: usize,
    readonly size: i32,
  ) {
    memory.copy(changetype<usize>(this.bytes), address, size);
    memory.fill(changetype<usize>(this.bytes) + MAX_OPENING_BYTES, 0xff, size);
  }

  /** The value that follows is the content of the item. */
  // @ts-ignore: decorator
  @inline
  get isContentNext(): bool {
    return this.frame.child == Place.Content;
  }

  /** Whether an item begins like this; three vectors at `p` are readable. */
  begins(p: usize): bool {
    const own = changetype<usize>(this.bytes);
    const first = v128.xor(v128.load(p), v128.load(own));
    const second = v128.and(v128.xor(v128.load(p, 16), v128.load(own, 16)), v128.load(own, 64));
    if (v128.any_true(v128.or(first, second))) return false;
    if (this.size <= 2 * VECTOR_BYTES) return true;
    const third = v128.xor(v128.load(p, 32), v128.load(own, 32));
    return !v128.any_true(v128.and(third, v128.load(own, 80)));
  }
}

/** Filled at start, then only read. */
export class Openings {
  private readonly rows: StaticArray<Opening | null> = new StaticArray<Opening | null>(
    FORMATS * ROWS,
  );

  add(format: i32, opening: Opening, address: usize): void {
    const row = rowOf(format, address);
    opening.next = this.rows[row];
    this.rows[row] = opening;
  }

  /** How the item at `p` begins, if all of its beginning is before `end` and known for this row of formats. */
  find(format: i32, p: usize, end: usize): Opening | null {
    let opening = unchecked(this.rows[rowOf(format, p)]);
    while (opening !== null) {
      if (end - p >= <usize>opening.size && opening.begins(p)) return opening;
      opening = opening.next;
    }
    return null;
  }
}

// @ts-ignore: decorator
@inline
function rowOf(format: i32, p: usize): i32 {
  const first = <i32>load<u8>(p, VALUE_AT);
  const second = <i32>load<u8>(p, VALUE_AT + 1);
  return format * ROWS + ((first + 5 * second) & (ROWS - 1));
}

/** Of all readers. */
export const OPENINGS: Openings = new Openings();
