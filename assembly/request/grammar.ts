// SPDX-License-Identifier: Apache-2.0
// Tables that lead from a place and a key to the place of the value: what a wire format is, as data.
import { findIn, Lookup, NOT_FOUND } from "../hash/lookup";
import { hashName } from "../hash/text";
import { MAX_SESSION_FIELDS, Mark, Place } from "./place";
import { rowOf } from "./traits";

const CAPACITY: i32 = 256;
const PLACES: i32 = <i32>Place.Session + MAX_SESSION_FIELDS;
/** Keys of marks are kept apart from keys of places. */
const MARK: u64 = 1 << 32;

class Ending {
  constructor(
    readonly place: Place,
    readonly bytes: ArrayBuffer,
    readonly mark: Mark,
  ) {}

  ends(text: usize, textBytes: i32): bool {
    const size = this.bytes.byteLength;
    if (size > textBytes) return false;
    return memory.compare(text + textBytes - size, changetype<usize>(this.bytes), size) == 0;
  }
}


@final
export class Grammar {
  private readonly endings: Ending[] = [];
  private readonly rows: Lookup = new Lookup(CAPACITY);
  private readonly slots: usize = this.rows.address;
  private readonly elements: StaticArray<i32> = new StaticArray<i32>(PLACES);
  private readonly others: StaticArray<i32> = new StaticArray<i32>(PLACES);

  constructor() {
    // What no row speaks of is ignored, and so is what stands there.
    for (let place = 0; place < PLACES; place++) this.others[place] = rowOf(place, Place.Ignored);
  }

  /** In an object at `place`, the value of `name` stands at `child`. The first row for a name stays. */
  key(place: Place, name: string, child: Place): Grammar {
    this.rows.put(rowKey(<u64>place, hashName(name)), rowOf(place, child));
    return this;
  }

  /** In an object at `place`, values of all other keys stand at `child` (Ignored if not said). */
  other(place: Place, child: Place): Grammar {
    this.others[place] = rowOf(place, child);
    return this;
  }

  /** In an array at `place`, every element stands at `child` (Ignored if not said). */
  element(place: Place, child: Place): Grammar {
    this.elements[place] = child;
    return this;
  }

  /** The text `name` at `place` (a role or a type) says `mark`. */
  mark(place: Place, name: string, mark: Mark): Grammar {
    this.rows.put(rowKey(MARK + <u64>place, hashName(name)), mark);
    return this;
  }

  /** A text at `place` that has no row of its own and ends in `ending` says `mark`. */
  ending(place: Place, ending: string, mark: Mark): Grammar {
    this.endings.push(new Ending(place, String.UTF8.encode(ending), mark));
    return this;
  }

  /** The place of the value of `key` in an object at `place`, with its traits. */
  rowOf(place: Place, key: u64): i32 {
    const row = findIn(this.slots, CAPACITY - 1, rowKey(<u64>place, key));
    return row == NOT_FOUND ? unchecked(this.others[place]) : row;
  }

  elementOf(place: Place): Place {
    return unchecked(this.elements[place]);
  }

  markOf(place: Place, text: u64): Mark {
    const mark = findIn(this.slots, CAPACITY - 1, rowKey(MARK + <u64>place, text));
    return mark == NOT_FOUND ? Mark.None : mark;
  }

  /** What a text says that must be looked at itself where its hash is not known. */
  markOfText(place: Place, hash: u64, text: usize, textBytes: i32): Mark {
    const mark = this.markOf(place, hash);
    if (mark != Mark.None) return mark;
    for (let i = 0; i < this.endings.length; i++) {
      const ending = this.endings[i];
      if (ending.place == place && ending.ends(text, textBytes)) return ending.mark;
    }
    return Mark.None;
  }
}

/** Hashes of names are mixed already: a step per place keeps the rows of two places apart. */
// @ts-ignore: decorator
@inline
function rowKey(place: u64, key: u64): u64 {
  return key + place * 0x9e3779b97f4a7c15;
}
