// SPDX-License-Identifier: Apache-2.0
// Block hash -> block number: an open-addressing table over the pool's own hash column.

const EMPTY = -1;

/**
 * Holds block numbers only; the keys are read from `hashes`. Linear probing with backward shift, so
 * that millions of evictions leave no tombstones. At most half full by construction.
 */
export class HashIndex {
  private readonly slots: Int32Array;
  private readonly mask: number;

  constructor(
    private readonly hashes: Float64Array,
    capacity: number,
  ) {
    let size = 16;
    while (size < capacity * 2) size *= 2;
    this.slots = new Int32Array(size).fill(EMPTY);
    this.mask = size - 1;
  }

  /** The block with this hash, or -1. */
  find(hash: number): number {
    let slot = this.home(hash);
    for (;;) {
      const block = this.slots[slot] as number;
      if (block === EMPTY || this.hashes[block] === hash) return block;
      slot = (slot + 1) & this.mask;
    }
  }

  /** Adds a block whose hash is not in the table. */
  insert(block: number): void {
    let slot = this.home(this.hashes[block] as number);
    while (this.slots[slot] !== EMPTY) slot = (slot + 1) & this.mask;
    this.slots[slot] = block;
  }

  /** Lets `block` stand for the hash that `previous` stood for. */
  replace(previous: number, block: number): void {
    this.slots[this.slotOf(previous)] = block;
  }

  remove(block: number): void {
    let hole = this.slotOf(block);
    let slot = hole;
    for (;;) {
      slot = (slot + 1) & this.mask;
      const next = this.slots[slot] as number;
      if (next === EMPTY) break;
      const home = this.home(this.hashes[next] as number);
      // `next` may move into the hole only if its home does not lie between the hole and it.
      if (((slot - home) & this.mask) < ((slot - hole) & this.mask)) continue;
      this.slots[hole] = next;
      hole = slot;
    }
    this.slots[hole] = EMPTY;
  }

  private home(hash: number): number {
    return (Math.imul((hash | 0) ^ ((hash / 0x100000000) | 0), 0x9e3779b1) >>> 7) & this.mask;
  }

  private slotOf(block: number): number {
    let slot = this.home(this.hashes[block] as number);
    while (this.slots[slot] !== block) slot = (slot + 1) & this.mask;
    return slot;
  }
}
