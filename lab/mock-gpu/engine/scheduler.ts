// SPDX-License-Identifier: Apache-2.0
// vLLM's scheduler: what runs in the next step, who gets blocks, and who has to give them back.
import { type Batch } from "./batch.ts";
import { BlockPool } from "./block-pool.ts";
import { type EngineCounters } from "./counters.ts";
import { type ResolvedOptions } from "./options.ts";
import { type EngineRequest } from "./request.ts";
import { Retention } from "./retention.ts";
import { prefillMs } from "./step-cost.ts";
import { before, WaitingQueue } from "./waiting-queue.ts";

/**
 * Running requests are served from the token budget first, then waiting ones in order. When a running
 * request finds no block, the last one (FCFS) or the least urgent one (priority) loses everything it
 * computed and goes back to the queue. A waiting request never preempts a running one.
 */
export class Scheduler {
  readonly pool: BlockPool;
  readonly retention: Retention;
  readonly running: EngineRequest[] = [];
  readonly waiting = new WaitingQueue();
  readonly fetching: EngineRequest[] = [];
  private readonly found: Int32Array;
  private blockedHead: EngineRequest | null = null;
  private blockedReleases = -1;

  constructor(
    private readonly options: ResolvedOptions,
    private readonly counters: EngineCounters,
  ) {
    this.pool = new BlockPool(options.kvBlocks);
    this.retention = new Retention(options, this.pool);
    this.found = new Int32Array(options.kvBlocks);
  }

  /** Chooses the next step's sequences and gives them their blocks. */
  schedule(nowMs: number): Batch {
    this.collectFetched(nowMs);
    const batch: Batch = { requests: [] };
    const budget = { tokens: this.options.maxBatchedTokens };
    const preempted = this.scheduleRunning(batch, budget, nowMs);
    if (!preempted) this.scheduleWaiting(batch, budget, nowMs);
    // A request that preempted itself, or prompts that hold each other's blocks, must not stop the clock.
    if (batch.requests.length === 0) this.scheduleWaiting(batch, budget, nowMs);
    while (batch.requests.length === 0 && this.breakDeadlock()) {
      this.scheduleWaiting(batch, budget, nowMs);
    }
    return batch;
  }

  /** Takes a request out of every queue and gives its blocks back. */
  remove(request: EngineRequest, nowMs: number): void {
    if (request.state === "waiting") this.waiting.remove(request);
    else if (request.state === "running") removeFrom(this.running, request);
    else if (request.state === "fetching") removeFrom(this.fetching, request);
    if (request.transfer !== null) {
      request.transfer.release(nowMs);
      request.transfer = null;
    }
    this.freeBlocks(request);
  }

  /** Ends a running request: its blocks stay findable, are held, or go where retention says. */
  finish(request: EngineRequest, nowMs: number): void {
    removeFrom(this.running, request);
    this.storeToTiers(request, nowMs);
    if (request.holdBlocks) return;
    const taken = request.endsInWait && this.retention.take(request, nowMs);
    if (!taken) this.freeBlocks(request);
    this.blockedHead = null;
  }

  freeBlocks(request: EngineRequest): void {
    this.pool.release(request.blocks, request.blockCount);
    request.blockCount = 0;
  }

  /** When the next fetch arrives; Infinity when none is under way. */
  nextFetchMs(): number {
    let next = Infinity;
    for (const request of this.fetching) next = Math.min(next, request.fetchDoneMs);
    return next;
  }

  /** Offers full blocks that are computed to the tiers (write-through). */
  storeToTiers(request: EngineRequest, nowMs: number): void {
    if (this.options.tiers.length === 0) return;
    const to = Math.min(request.registered, this.fullBlocks(request.computed));
    if (to <= request.stored) return;
    for (const tier of this.options.tiers) tier.write(request.hashes, request.stored, to, nowMs);
    request.stored = to;
  }

  private collectFetched(nowMs: number): void {
    for (let i = this.fetching.length - 1; i >= 0; i--) {
      const request = this.fetching[i] as EngineRequest;
      if (request.fetchDoneMs > nowMs) continue;
      this.fetching.splice(i, 1);
      this.registerFull(request, request.computed);
      request.stored = request.registered;
      if (request.transfer !== null) {
        request.transfer.release(nowMs);
        request.transfer = null;
      }
      // The last prompt token is always computed here: it yields the first output token.
      request.computed = Math.min(request.computed, request.length - 1);
      request.state = "waiting";
      this.waiting.add(request);
    }
  }

  private scheduleRunning(batch: Batch, budget: { tokens: number }, nowMs: number): boolean {
    let preempted = false;
    let index = 0;
    while (index < this.running.length && budget.tokens > 0) {
      const request = this.running[index] as EngineRequest;
      const tokens = this.chunk(request.length - request.computed, budget.tokens);
      while (!this.grow(request, request.computed + tokens, nowMs)) {
        preempted = true;
        const victim = this.preempt();
        if (victim.scheduled > 0) {
          removeFrom(batch.requests, victim);
          budget.tokens += victim.scheduled;
          victim.scheduled = 0;
          index--;
        }
        if (victim === request) return true;
      }
      this.take(request, tokens, batch, budget);
      index++;
    }
    return preempted;
  }

  private scheduleWaiting(batch: Batch, budget: { tokens: number }, nowMs: number): void {
    while (budget.tokens > 0 && this.running.length < this.options.maxSequences) {
      const request = this.waiting.peek();
      if (request === undefined || this.isBlocked(request)) return;
      const tokens = this.admit(request, budget.tokens, nowMs);
      if (tokens < 0) {
        this.blockedHead = request;
        this.blockedReleases = this.pool.releases;
        return;
      }
      this.waiting.shift();
      if (tokens === 0) {
        request.state = "fetching";
        this.fetching.push(request);
        continue;
      }
      request.state = "running";
      this.running.push(request);
      if (Number.isNaN(request.firstScheduledMs)) request.firstScheduledMs = nowMs;
      this.take(request, tokens, batch, budget);
    }
  }

  /** A head that did not fit is looked up again only after something became free. */
  private isBlocked(head: EngineRequest): boolean {
    return head === this.blockedHead && this.blockedReleases === this.pool.releases;
  }

  /** Tokens to schedule now, 0 when a fetch has to arrive first, -1 when there is no room. */
  private admit(request: EngineRequest, budgetTokens: number, nowMs: number): number {
    if (request.blockCount > 0) return this.admitFetched(request, budgetTokens, nowMs);
    const limit = this.hitLimit(request);
    const local = this.pool.findPrefix(request.hashes, 0, limit, this.found);
    const remote = this.findRemote(request, local, limit, nowMs);
    const hitTokens = (local + remote.blocks) * this.options.blockTokens;
    const tokens = this.chunk(request.length - hitTokens, budgetTokens);
    const wanted = this.options.reserveFullPrompt ? request.length : hitTokens + tokens;
    // A fetch holds its blocks for long and cannot be preempted: prompts under way come before it.
    const reserved = remote.blocks > 0 ? this.reserved() : 0;
    const fresh = this.blocksFor(wanted) - local + reserved;
    // Hits that lie in the free queue take room too, and giving room may put more of them there.
    while (this.pool.freeBlocks < fresh + this.pool.countFree(this.found, local)) {
      if (!this.retention.giveBack(nowMs)) return -1;
    }
    for (let i = 0; i < local; i++) {
      const block = this.found[i] as number;
      this.pool.use(block);
      request.blocks[i] = block;
    }
    request.blockCount = request.registered = request.stored = local;
    request.computed = local * this.options.blockTokens;
    this.countHit(request, request.computed, remote.blocks);
    if (remote.blocks > 0) {
      const doneMs = remote.start();
      request.computed = Math.min(hitTokens, request.length);
      request.fetchDoneMs = doneMs;
      request.fetchMs += doneMs - nowMs;
      this.growFree(request, request.computed);
      return 0;
    }
    this.growFree(request, request.computed + tokens);
    return tokens;
  }

  private admitFetched(request: EngineRequest, budgetTokens: number, nowMs: number): number {
    const tokens = this.chunk(request.length - request.computed, budgetTokens);
    const wanted = this.options.reserveFullPrompt ? request.length : request.computed + tokens;
    const needed = this.blocksFor(wanted) - request.blockCount;
    if (!this.makeRoom(needed, nowMs)) return -1;
    this.growFree(request, request.computed + tokens);
    return tokens;
  }

  /** Blocks that another engine or a tier holds beyond the local hit, if fetching them pays. */
  private findRemote(
    request: EngineRequest,
    local: number,
    limit: number,
    nowMs: number,
  ): { blocks: number; start: () => number } {
    const transfer = request.transfer;
    if (transfer !== null) {
      const blocks = this.blocksFor(transfer.tokens) - local;
      const missing = transfer.tokens - local * this.options.blockTokens;
      if (blocks > 0) return { blocks, start: () => transfer.pull(missing, nowMs) };
      transfer.release(nowMs);
      request.transfer = null;
    }
    for (const tier of this.options.tiers) {
      const blocks = tier.countPrefix(request.hashes, local, limit, nowMs);
      if (blocks === 0) continue;
      const tokens = blocks * this.options.blockTokens;
      const until = local * this.options.blockTokens + tokens;
      const computeMs = prefillMs(this.options.cost, tokens, until);
      const fetchMs = tier.estimateRead(blocks, nowMs) - nowMs;
      if (this.options.fetch === "faster" && fetchMs >= computeMs) continue;
      return { blocks, start: () => tier.read(request.hashes, local, blocks, nowMs) };
    }
    return { blocks: 0, start: () => nowMs };
  }

  /** A hit never covers the whole prompt: at least one token has to be computed. */
  private hitLimit(request: EngineRequest): number {
    if (!this.options.prefixCaching) return 0;
    return Math.min(this.fullBlocks(request.length - 1), request.hashes.length);
  }

  private countHit(request: EngineRequest, localTokens: number, remoteBlocks: number): void {
    const until = Math.min(
      localTokens + remoteBlocks * this.options.blockTokens,
      request.length - 1,
    );
    if (request.cachedTokens < 0) {
      request.cachedTokens = until;
      this.counters.queriedTokens += request.promptTokens;
      this.counters.hitTokens += localTokens;
      this.counters.fetchedTokens += until - localTokens;
    }
    request.localTokens += Math.max(0, localTokens - request.highWater);
    request.highWater = Math.max(request.highWater, localTokens);
    request.fetchedTokens += Math.max(0, until - request.highWater);
    request.highWater = Math.max(request.highWater, until);
  }

  /** Blocks that prompts under way still need, whether they run, are fetched, or have been. */
  private reserved(): number {
    let blocks = 0;
    const count = (request: EngineRequest): void => {
      blocks += Math.max(0, this.blocksFor(request.length) - request.blockCount);
    };
    this.running.forEach(count);
    this.fetching.forEach(count);
    for (const request of this.waiting) {
      if (request.blockCount === 0) break; // Those that hold blocks come first.
      count(request);
    }
    return blocks;
  }

  private take(
    request: EngineRequest,
    tokens: number,
    batch: Batch,
    budget: { tokens: number },
  ): void {
    request.scheduled = tokens;
    this.registerFull(request, request.computed + tokens);
    batch.requests.push(request);
    budget.tokens -= tokens;
  }

  private chunk(tokens: number, budgetTokens: number): number {
    const longest = this.options.longPrefillTokens;
    // A request that is alone starves nobody: it may use the whole budget.
    const alone = this.running.length + this.waiting.size + this.fetching.length <= 1;
    const chunk = longest > 0 && !alone ? Math.min(tokens, longest) : tokens;
    return Math.min(chunk, budgetTokens);
  }

  private grow(request: EngineRequest, tokens: number, nowMs: number): boolean {
    const needed = this.blocksFor(tokens) - request.blockCount;
    if (needed > 0 && !this.makeRoom(needed, nowMs)) return false;
    this.growFree(request, tokens);
    return true;
  }

  private growFree(request: EngineRequest, tokens: number): void {
    const wanted = this.blocksFor(tokens);
    while (request.blockCount < wanted) {
      request.blocks[request.blockCount] = this.pool.allocate();
      request.blockCount++;
    }
  }

  private makeRoom(blocks: number, nowMs: number): boolean {
    while (this.pool.freeBlocks < blocks) if (!this.retention.giveBack(nowMs)) return false;
    return true;
  }

  /** Blocks become findable when they are scheduled, as in vLLM: the same step may already share them. */
  private registerFull(request: EngineRequest, tokens: number): void {
    if (!this.options.prefixCaching) return;
    const full = Math.min(this.fullBlocks(tokens), request.hashes.length);
    for (let i = request.registered; i < full; i++) {
      this.pool.register(request.blocks[i] as number, request.hashes[i] as number);
    }
    if (full > request.registered) request.registered = full;
  }

  private preempt(): EngineRequest {
    let victim = this.running[this.running.length - 1] as EngineRequest;
    if (this.options.scheduling === "priority") {
      for (const request of this.running) if (before(victim, request)) victim = request;
    }
    removeFrom(this.running, victim);
    this.reset(victim);
    victim.preemptions++;
    this.counters.preemptions++;
    this.waiting.add(victim);
    return victim;
  }

  private reset(request: EngineRequest): void {
    this.freeBlocks(request);
    request.computed = request.registered = request.stored = 0;
    request.state = "waiting";
  }

  /**
   * Nothing runs and nothing arrives, but something waits: the blocks are held by fetched prompts that
   * cannot be completed. The last of them gives its blocks back.
   */
  private breakDeadlock(): boolean {
    if (this.running.length > 0 || this.fetching.length > 0 || this.waiting.size < 2) return false;
    let last: EngineRequest | null = null;
    for (const request of this.waiting) {
      if (request.blockCount > 0 && request !== this.waiting.peek()) last = request;
    }
    if (last === null) return false;
    this.waiting.remove(last);
    this.reset(last);
    this.waiting.add(last);
    return true;
  }

  private blocksFor(tokens: number): number {
    return Math.ceil(tokens / this.options.blockTokens);
  }

  private fullBlocks(tokens: number): number {
    return Math.floor(tokens / this.options.blockTokens);
  }
}

function removeFrom(list: EngineRequest[], request: EngineRequest): void {
  const at = list.indexOf(request);
  if (at >= 0) list.splice(at, 1);
}
