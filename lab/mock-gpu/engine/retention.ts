// SPDX-License-Identifier: Apache-2.0
// What happens to a session's KV while the session waits for a tool: keep, offload or drop.
import { type BlockPool } from "./block-pool.ts";
import { type ResolvedOptions } from "./options.ts";
import { type EngineRequest } from "./request.ts";

interface Kept {
  blocks: Int32Array;
  count: number;
  untilMs: number;
}

/** Astraea's adaptive manager and Continuum's time-to-live, reduced to what an engine can see. */
export class Retention {
  /** Oldest first. */
  private kept: Kept[] = [];

  constructor(
    private readonly options: ResolvedOptions,
    private readonly pool: BlockPool,
  ) {}

  /** True when the blocks were taken over; false leaves them to the pool's LRU order. */
  take(request: EngineRequest, nowMs: number): boolean {
    this.expire(nowMs);
    const action = this.choose();
    if (action === "lru") return false;
    if (action === "keep") {
      const blocks = request.blocks.slice(0, request.blockCount);
      const untilMs = nowMs + this.options.retention.keepMs;
      this.kept.push({ blocks, count: request.blockCount, untilMs });
      request.blockCount = 0;
      return true;
    }
    if (action === "offload") {
      const nearest = this.options.tiers[0];
      nearest?.write(request.hashes, 0, request.registered, nowMs);
    }
    this.pool.release(request.blocks, request.blockCount);
    // Blocks that others use as well (a shared system prompt) stay.
    for (let i = request.blockCount - 1; i >= 0; i--) this.dropUnused(request.blocks[i] as number);
    request.blockCount = 0;
    return true;
  }

  /** Frees the session that has been kept longest; false when there is none. */
  giveBack(nowMs: number): boolean {
    this.expire(nowMs);
    const oldest = this.kept.shift();
    if (oldest === undefined) return false;
    this.pool.release(oldest.blocks, oldest.count);
    return true;
  }

  /** Frees what was kept long enough. */
  expire(nowMs: number): void {
    for (;;) {
      const oldest = this.kept[0];
      if (oldest === undefined || oldest.untilMs > nowMs) return;
      this.kept.shift();
      this.pool.release(oldest.blocks, oldest.count);
    }
  }

  private dropUnused(block: number): void {
    if (!this.pool.inUse(block)) this.pool.drop(block);
  }

  private choose(): "lru" | "keep" | "offload" | "drop" {
    const { policy, lowUsage, highUsage } = this.options.retention;
    if (policy !== "adaptive") return policy;
    if (this.pool.usage < lowUsage) return "keep";
    return this.pool.usage < highUsage ? "offload" : "drop";
  }
}
