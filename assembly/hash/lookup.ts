// SPDX-License-Identifier: Apache-2.0
// A small table from hashes to numbers that is filled at start and then only read.

/** Nothing is stored under a hash. */
export const NOT_FOUND: i32 = -1;

export class Lookup {
  private readonly mask: i32;
  /** Key and number side by side: a look-up touches one line of memory. */
  private readonly slots: StaticArray<u64>;
  private count: i32 = 0;

  /** @param capacity a power of two; three quarters of it can be filled */
  constructor(capacity: i32) {
    assert(popcnt(capacity) == 1);
    this.mask = capacity - 1;
    this.slots = new StaticArray<u64>(2 * capacity);
  }

  /** Stores a number that is not negative; the first one under a hash stays. */
  put(key: u64, result: i32): void {
    assert(this.count < this.mask - (this.mask >> 2), "a look-up table is too small");
    let slot = (<i32>key) & this.mask;
    while (this.slots[2 * slot] != 0) {
      if (this.slots[2 * slot] == key) return;
      slot = (slot + 1) & this.mask;
    }
    this.slots[2 * slot] = key;
    this.slots[2 * slot + 1] = result;
    this.count++;
  }

  // @ts-ignore: decorator
  @inline
  find(key: u64): i32 {
    return findIn(this.address, this.mask, key);
  }

  /** Where the slots are, for those who ask again and again. */
  // @ts-ignore: decorator
  @inline
  get address(): usize {
    return changetype<usize>(this.slots);
  }
}

/** The number in a table of a known size. Ends: a quarter of the slots stays empty. */
// @ts-ignore: decorator
@inline
export function findIn(slots: usize, mask: i32, key: u64): i32 {
  let slot = (<i32>key) & mask;
  while (true) {
    const address = slots + ((<usize>slot) << 4);
    const found = load<u64>(address);
    if (found == key) return <i32>load<u64>(address, 8);
    if (found == 0) return NOT_FOUND;
    slot = (slot + 1) & mask;
  }
}
