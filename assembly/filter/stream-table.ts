// SPDX-License-Identifier: Apache-2.0
// Context id -> stream: open addressing, so that a look-up costs the same with one open stream or ten thousand.
import { FilterStream } from "./filter-stream";

const FIRST_CAPACITY: i32 = 256; // A power of two.

/** Fibonacci hashing: context ids count up, this spreads them. */
// @ts-ignore: decorator
@inline
function spread(contextId: u32): u32 {
  return contextId * 0x9e37_79b1;
}

/**
 * The open streams of one VM. Linear probing at half load, deletion by shifting back, so that there are no
 * tombstones to clean and no allocation per stream once the table has grown.
 */
@final
export class StreamTable {
  private ids: StaticArray<u32> = new StaticArray<u32>(FIRST_CAPACITY); // 0 = free: 0 is no context id.
  private streams: StaticArray<FilterStream | null> = new StaticArray<FilterStream | null>(
    FIRST_CAPACITY,
  );
  private shift: u32 = 32 - 8;
  size: i32 = 0;

  find(contextId: u32): FilterStream | null {
    const position = this.locate(contextId);
    return unchecked(this.ids[position]) == contextId ? unchecked(this.streams[position]) : null;
  }

  add(contextId: u32, stream: FilterStream): void {
    if (this.size * 2 >= this.ids.length) this.grow();
    const position = this.locate(contextId);
    if (this.ids[position] == 0) this.size++;
    this.ids[position] = contextId;
    this.streams[position] = stream;
  }

  remove(contextId: u32): void {
    let hole = this.locate(contextId);
    if (this.ids[hole] != contextId) return;
    const mask = this.ids.length - 1;
    this.size--;
    for (let next = (hole + 1) & mask; this.ids[next] != 0; next = (next + 1) & mask) {
      const wanted = <i32>(spread(this.ids[next]) >> this.shift);
      // An entry may move into the hole unless its own place lies cyclically behind the hole.
      if (((next - wanted) & mask) < ((next - hole) & mask)) continue;
      this.ids[hole] = this.ids[next];
      this.streams[hole] = this.streams[next];
      hole = next;
    }
    this.ids[hole] = 0;
    this.streams[hole] = null;
  }

  /** Place of the id, or of the free cell where it would go. */
  private locate(contextId: u32): i32 {
    const ids = this.ids;
    const mask = ids.length - 1;
    let position = <i32>(spread(contextId) >> this.shift);
    for (let id = unchecked(ids[position]); id != 0 && id != contextId;) {
      position = (position + 1) & mask;
      id = unchecked(ids[position]);
    }
    return position;
  }

  private grow(): void {
    const ids = this.ids;
    const streams = this.streams;
    const capacity = ids.length * 2;
    this.ids = new StaticArray<u32>(capacity);
    this.streams = new StaticArray<FilterStream | null>(capacity);
    this.shift--;
    for (let i = 0; i < ids.length; i++) {
      if (ids[i] == 0) continue;
      const position = this.locate(ids[i]);
      this.ids[position] = ids[i];
      this.streams[position] = streams[i];
    }
  }
}
