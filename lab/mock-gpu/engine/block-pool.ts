// SPDX-License-Identifier: Apache-2.0
// The KV cache of one GPU: reference-counted blocks, a prefix index and an LRU queue of free blocks.
import { HashIndex } from "./hash-index.ts";

const NONE = -1;

/**
 * vLLM's block pool. A block that nobody uses waits in the free queue and stays findable by its hash
 * until it is handed out again; the head of the queue goes first. Blocks with equal hashes, computed
 * by two requests at the same time, are kept both (vLLM does not merge them either).
 */
export class BlockPool {
  private readonly refs: Int32Array;
  private readonly hashes: Float64Array;
  /** Free queue; entry `capacity` is its sentinel. */
  private readonly next: Int32Array;
  private readonly previous: Int32Array;
  /** Blocks with equal hashes; the first one stands in the index. */
  private readonly nextTwin: Int32Array;
  private readonly previousTwin: Int32Array;
  private readonly index: HashIndex;
  /** Blocks that are out of use, and how many are to be: the pool is smaller than it was built. */
  private readonly closed: number[] = [];
  private toClose = 0;
  private free: number;
  private evicted = 0;
  private frees = 0;

  /** `capacity`: usable blocks (vLLM's `num_gpu_blocks` less its null block). */
  constructor(readonly capacity: number) {
    this.refs = new Int32Array(capacity);
    this.hashes = new Float64Array(capacity);
    this.next = new Int32Array(capacity + 1);
    this.previous = new Int32Array(capacity + 1);
    this.nextTwin = new Int32Array(capacity).fill(NONE);
    this.previousTwin = new Int32Array(capacity).fill(NONE);
    this.index = new HashIndex(this.hashes, capacity);
    this.free = capacity;
    for (let i = 0; i <= capacity; i++) {
      this.next[i] = i === capacity ? 0 : i + 1;
      this.previous[i] = i === 0 ? capacity : i - 1;
    }
    if (capacity === 0) this.next[0] = this.previous[0] = 0;
  }

  /** Blocks that can be handed out, cached ones included. */
  get freeBlocks(): number {
    return this.free;
  }

  /** Share of the pool in use, 0..1. */
  get usage(): number {
    return this.capacity === 0 ? 0 : 1 - this.free / this.capacity;
  }

  /** Cached blocks that were handed out anew. */
  get evictions(): number {
    return this.evicted;
  }

  /** Grows whenever blocks become free: an admission that failed need not be tried before. */
  get releases(): number {
    return this.frees;
  }

  /** Goes on with so many of its blocks, at most `capacity`: at once as far as blocks are free, else as they become so. */
  resize(blocks: number): void {
    this.toClose = this.capacity - Math.max(0, Math.min(this.capacity, blocks));
    for (const block of this.closed.splice(this.toClose)) {
      this.refs[block] = 0;
      this.linkFree(block);
      this.frees++;
    }
    this.close();
  }

  private close(): void {
    while (this.closed.length < this.toClose && this.free > 0) this.closed.push(this.allocate());
  }

  /** Number of leading `hashes[from, limit)` that are cached; their blocks are written to `found`. */
  findPrefix(hashes: Float64Array, from: number, limit: number, found: Int32Array): number {
    let count = 0;
    while (from + count < limit) {
      const block = this.index.find(hashes[from + count] as number);
      if (block === NONE) break;
      found[count] = block;
      count++;
    }
    return count;
  }

  /** The cached block of this hash, or -1. */
  find(hash: number): number {
    return this.index.find(hash);
  }

  /** How many of these blocks lie in the free queue: using them takes as many from `freeBlocks`. */
  countFree(blocks: Int32Array, count: number): number {
    let free = 0;
    for (let i = 0; i < count; i++) if (this.refs[blocks[i] as number] === 0) free++;
    return free;
  }

  inUse(block: number): boolean {
    return (this.refs[block] as number) > 0;
  }

  /** Takes one more reference to a cached block. */
  use(block: number): void {
    if (this.refs[block] === 0) this.unlinkFree(block);
    this.refs[block] = (this.refs[block] as number) + 1;
  }

  /** A fresh block with one reference: the least recently used free one. The caller has checked `freeBlocks`. */
  allocate(): number {
    const block = this.next[this.capacity] as number;
    this.unlinkFree(block);
    if (this.hashes[block] !== 0) {
      this.forget(block);
      this.evicted++;
    }
    this.refs[block] = 1;
    return block;
  }

  /** Makes a full block findable. */
  register(block: number, hash: number): void {
    if (this.hashes[block] !== 0) return;
    this.hashes[block] = hash;
    const first = this.index.find(hash);
    if (first === NONE) {
      this.index.insert(block);
      return;
    }
    const second = this.nextTwin[first] as number;
    this.nextTwin[first] = block;
    this.previousTwin[block] = first;
    this.nextTwin[block] = second;
    if (second !== NONE) this.previousTwin[second] = block;
  }

  /**
   * Gives back one reference to each of `blocks[0, count)`. Unused ones join the free queue, the tail
   * first, so that it is evicted first; those without a hash, which nobody can hit, go to its head.
   */
  release(blocks: Int32Array, count: number): void {
    for (let i = count - 1; i >= 0; i--) {
      const block = blocks[i] as number;
      const left = (this.refs[block] as number) - 1;
      this.refs[block] = left;
      if (left === 0) this.linkFree(block);
    }
    if (this.toClose > this.closed.length) this.close();
    if (count > 0) this.frees++;
  }

  /** Moves an unused cached block to the young end of the queue. */
  refresh(block: number): void {
    if (this.refs[block] !== 0) return;
    this.unlinkFree(block);
    this.linkFree(block);
  }

  /** Takes a block's hash away; unused ones then go first of all. */
  drop(block: number): void {
    if (this.hashes[block] !== 0) this.forget(block);
    if (this.refs[block] !== 0) return;
    this.unlinkFree(block);
    this.linkFree(block);
  }

  /** Forgets every cached prefix (an engine restart). Blocks in use stay in use. */
  clear(): void {
    for (let block = 0; block < this.capacity; block++) {
      if (this.hashes[block] !== 0) this.forget(block);
    }
  }

  private forget(block: number): void {
    const before = this.previousTwin[block] as number;
    const after = this.nextTwin[block] as number;
    if (before !== NONE) this.nextTwin[before] = after;
    else if (after !== NONE) this.index.replace(block, after);
    else this.index.remove(block);
    if (after !== NONE) this.previousTwin[after] = before;
    this.previousTwin[block] = this.nextTwin[block] = NONE;
    this.hashes[block] = 0;
  }

  private linkFree(block: number): void {
    const end = this.capacity;
    if (this.hashes[block] === 0) this.insertFree(block, end, this.next[end] as number);
    else this.insertFree(block, this.previous[end] as number, end);
  }

  private insertFree(block: number, before: number, after: number): void {
    this.next[before] = block;
    this.previous[block] = before;
    this.next[block] = after;
    this.previous[after] = block;
    this.free++;
  }

  private unlinkFree(block: number): void {
    const before = this.previous[block] as number;
    const after = this.next[block] as number;
    this.next[before] = after;
    this.previous[after] = before;
    this.free--;
  }
}
