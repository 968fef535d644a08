// SPDX-License-Identifier: Apache-2.0
// A slower, larger place for KV blocks: host memory of one engine, or a store that a fleet shares.
import { BandwidthPipe } from "./bandwidth-pipe.ts";
import { BlockPool } from "./block-pool.ts";

export interface KvTierOptions {
  name: string;
  capacityTokens: number;
  blockTokens: number;
  bytesPerToken: number;
  /** 10^9 bytes a second for everybody who shares the tier. */
  readGbPerS: number;
  /** Default: as fast as reading. */
  writeGbPerS?: number;
  /** RDMA 0.5-2 ms, TCP 2-10 ms. */
  setupMs?: number;
  /** Writes that would end later than this are dropped instead of queued. */
  maxWriteBacklogMs?: number;
}

interface PendingWrite {
  hashes: Float64Array;
  from: number;
  to: number;
  doneMs: number;
}

const DEFAULT_SETUP_MS = 1;
const DEFAULT_WRITE_BACKLOG_MS = 30_000;

/** LRU over blocks; reads and writes queue on one finite pipe each. A block is there once written. */
export class KvTier {
  readonly name: string;
  readonly blockTokens: number;
  private readonly pool: BlockPool;
  private readonly reads: BandwidthPipe;
  private readonly writes: BandwidthPipe;
  private readonly bytesPerBlock: number;
  private readonly maxBacklogMs: number;
  private pending: PendingWrite[] = [];
  private dropped = 0;
  private readonly scratch = new Int32Array(1);

  constructor(options: KvTierOptions) {
    this.name = options.name;
    this.blockTokens = options.blockTokens;
    this.pool = new BlockPool(Math.floor(options.capacityTokens / options.blockTokens));
    const setupMs = options.setupMs ?? DEFAULT_SETUP_MS;
    this.reads = new BandwidthPipe(options.readGbPerS, setupMs);
    this.writes = new BandwidthPipe(options.writeGbPerS ?? options.readGbPerS, setupMs);
    this.bytesPerBlock = options.bytesPerToken * options.blockTokens;
    this.maxBacklogMs = options.maxWriteBacklogMs ?? DEFAULT_WRITE_BACKLOG_MS;
  }

  get readBytes(): number {
    return this.reads.bytes;
  }

  get writtenBytes(): number {
    return this.writes.bytes;
  }

  /** Blocks that were not stored because the write pipe was too far behind. */
  get droppedBlocks(): number {
    return this.dropped;
  }

  get evictions(): number {
    return this.pool.evictions;
  }

  /** Leading blocks of `hashes[from, limit)` that are here now. */
  countPrefix(hashes: Float64Array, from: number, limit: number, nowMs: number): number {
    this.settle(nowMs);
    let count = 0;
    while (from + count < limit && this.pool.find(hashes[from + count] as number) >= 0) count++;
    return count;
  }

  /** When `blocks` blocks asked for now would have arrived. */
  estimateRead(blocks: number, nowMs: number): number {
    return this.reads.estimate(blocks * this.bytesPerBlock, nowMs);
  }

  /** Reads `hashes[from, from + count)`; answers when the last one has arrived. */
  read(hashes: Float64Array, from: number, count: number, nowMs: number): number {
    // The tail first, so that a prefix outlives what hangs on it.
    for (let i = from + count - 1; i >= from; i--) {
      const block = this.pool.find(hashes[i] as number);
      if (block >= 0) this.pool.refresh(block);
    }
    return this.reads.reserve(count * this.bytesPerBlock, nowMs);
  }

  /** Stores `hashes[from, to)` unless they are here or the pipe is too far behind. */
  write(hashes: Float64Array, from: number, to: number, nowMs: number): void {
    this.settle(nowMs);
    let missing = 0;
    for (let i = from; i < to; i++) {
      const block = this.pool.find(hashes[i] as number);
      if (block < 0) missing++;
      else this.pool.refresh(block);
    }
    if (missing === 0) return;
    const bytes = missing * this.bytesPerBlock;
    if (this.writes.estimate(bytes, nowMs) - nowMs > this.maxBacklogMs) {
      this.dropped += missing;
      return;
    }
    this.pending.push({ hashes, from, to, doneMs: this.writes.reserve(bytes, nowMs) });
  }

  private settle(nowMs: number): void {
    let done = 0;
    for (const write of this.pending) {
      if (write.doneMs > nowMs) break; // One pipe: writes end in the order they were asked for.
      for (let i = write.to - 1; i >= write.from; i--) this.store(write.hashes[i] as number);
      done++;
    }
    if (done > 0) this.pending = this.pending.slice(done);
  }

  private store(hash: number): void {
    if (this.pool.capacity === 0 || this.pool.find(hash) >= 0) return;
    this.scratch[0] = this.pool.allocate();
    this.pool.register(this.scratch[0], hash);
    this.pool.release(this.scratch, 1);
  }
}
