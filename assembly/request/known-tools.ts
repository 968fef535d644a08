// SPDX-License-Identifier: Apache-2.0
// Lists of tools read lately, byte for byte, and what they came to: all requests of an agent bring the same one.
import { HeadSection } from "./head-section";

/** Agents of one gateway with tools of their own whose lists are kept. */
const LISTS: i32 = 4;
/** Longer lists are read again each time. */
const MAX_LIST_BYTES: i32 = 32 * 1024;
/** Shorter ones are read as fast as compared. */
const MIN_LIST_BYTES: i32 = 64;
const VECTOR_BYTES: usize = 16;

/** Not touched, and so no memory of the machine, before a list is learned. */
const BYTES: usize = memory.data(4 * 32 * 1024, 16);

/**
 * Equal bytes at the same place mean the same, so a list that is known is compared instead of read: at a tenth of the
 * time, most of which goes into short tokens. Its hash has no tenant in it.
 */
export class KnownTools {
  private readonly sections: StaticArray<HeadSection> = new StaticArray<HeadSection>(LISTS);
  private readonly sizes: StaticArray<i32> = new StaticArray<i32>(LISTS);
  /** The list that was found or learned last, and the one to be replaced next. */
  private latest: i32 = 0;
  private next: i32 = 0;

  constructor() {
    for (let list = 0; list < LISTS; list++) this.sections[list] = new HeadSection(0);
  }

  /** Bytes of the known list that begins at `p` and ends before `end`, or 0; then `found` is what it came to. */
  find(p: usize, end: usize): i32 {
    for (let turn = 0; turn < LISTS; turn++) {
      const list = (this.latest + turn) & (LISTS - 1);
      const size = unchecked(this.sizes[list]);
      if (size == 0 || end - p < <usize>size || !isSame(p, bytesOf(list), size)) continue;
      this.latest = list;
      return size;
    }
    return 0;
  }

  get found(): HeadSection {
    return unchecked(this.sections[this.latest]);
  }

  /** Keeps the list of `size` bytes at `p`, which came to `section`. */
  learn(p: usize, size: i32, section: HeadSection): void {
    if (size < MIN_LIST_BYTES || size > MAX_LIST_BYTES) return;
    const list = this.next;
    this.next = (list + 1) & (LISTS - 1);
    this.latest = list;
    unchecked((this.sizes[list] = size));
    unchecked(this.sections[list]).copyFrom(section);
    memory.copy(bytesOf(list), p, size);
  }
}

function bytesOf(list: i32): usize {
  return BYTES + <usize>(list * MAX_LIST_BYTES);
}

/** Compares at least one vector. */
function isSame(a: usize, b: usize, size: i32): bool {
  const last = a + <usize>size - VECTOR_BYTES;
  for (; a < last; a += VECTOR_BYTES, b += VECTOR_BYTES) {
    if (v128.any_true(v128.xor(v128.load(a), v128.load(b)))) return false;
  }
  return !v128.any_true(v128.xor(v128.load(last), v128.load(b - (a - last))));
}
