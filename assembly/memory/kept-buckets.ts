// SPDX-License-Identifier: Apache-2.0
// Values that this worker read a moment ago, so that what an answer changes in them needs no second read.

/** Requests of one worker between their look-up and their answer; where there are more, some read twice. */
const PLACES: i32 = 64;
const NOTHING: u32 = u32.MAX_VALUE;
/** The value is kept nowhere. */
export const NO_PLACE: i32 = -1;

/**
 * The place that was left last is taken first, which keeps few lines of memory warm; where all are taken, one after
 * the other is lost to its owner. A copy that is out of date is refused by the compare-and-swap.
 */
@final
export class KeptBuckets {
  private indexes: StaticArray<u32> = new StaticArray<u32>(PLACES);
  private versions: StaticArray<u32> = new StaticArray<u32>(PLACES);
  private sizes: StaticArray<i32> = new StaticArray<i32>(PLACES);
  /** Places that nobody waits for, the last to be taken next. */
  private free: StaticArray<i32> = new StaticArray<i32>(PLACES);
  private freeCount: i32 = PLACES;
  private hand: i32 = 0;
  private bytes: StaticArray<u8>;

  /** @param mostBytes of a value */
  constructor(private readonly mostBytes: i32) {
    this.bytes = new StaticArray<u8>(PLACES * mostBytes);
    for (let i = 0; i < PLACES; i++) {
      this.indexes[i] = NOTHING;
      this.free[i] = PLACES - 1 - i;
    }
  }

  /** Copies a value and answers where to, or NO_PLACE where it is too long. */
  keep(index: u32, data: usize, size: i32, version: u32): i32 {
    if (size > this.mostBytes) return NO_PLACE;
    const place = this.nextPlace();
    unchecked((this.indexes[place] = index));
    unchecked((this.versions[place] = version));
    unchecked((this.sizes[place] = size));
    memory.copy(this.dataAt(place), data, <usize>size);
    return place;
  }

  /** Whether a place holds that value: it does so once, since a write makes the copy useless. */
  take(place: i32, index: u32): bool {
    if (place < 0 || place >= PLACES || unchecked(this.indexes[place]) != index) return false;
    unchecked((this.indexes[place] = NOTHING));
    unchecked((this.free[this.freeCount++] = place));
    return true;
  }

  /** The value of a place that was taken, valid until the next `keep`. */
  dataAt(place: i32): usize {
    return changetype<usize>(this.bytes) + <usize>(place * this.mostBytes);
  }

  sizeAt(place: i32): i32 {
    return unchecked(this.sizes[place]);
  }

  versionAt(place: i32): u32 {
    return unchecked(this.versions[place]);
  }

  private nextPlace(): i32 {
    if (this.freeCount > 0) return unchecked(this.free[--this.freeCount]);
    this.hand = (this.hand + 1) % PLACES;
    return this.hand;
  }
}
