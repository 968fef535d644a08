// SPDX-License-Identifier: Apache-2.0
// One GPU that serves one model, step by step, on a clock that its caller owns.
import { type Batch, workOf } from "./batch.ts";
import { type EngineCounters, newCounters } from "./counters.ts";
import { type Simulation } from "./cluster.ts";
import { type EngineOptions, type ResolvedOptions, resolveOptions } from "./options.ts";
import { EngineRequest, promptLength, type RequestInit } from "./request.ts";
import { Scheduler } from "./scheduler.ts";
import { stepMs } from "./step-cost.ts";

/** A request that this engine can never serve; `message` is what a client should read. */
export class EngineRefusal extends Error {
  constructor(
    message: string,
    readonly code: "too-long" | "priority-off",
  ) {
    super(message);
    this.name = "EngineRefusal";
  }
}

/**
 * Event driven: `submit` and `abort` at the present, then `advance(toMs)` up to at most the next thing
 * that the caller itself does. The engine is deterministic: the same calls give the same events.
 * Requests submitted at the same instant share the first step.
 */
export class Engine implements Simulation {
  readonly options: ResolvedOptions;
  readonly counters: EngineCounters = newCounters();
  private readonly scheduler: Scheduler;
  private batch: Batch | null = null;
  private stepEndMs = Infinity;
  private wakeMs = Infinity;
  private nowMs = 0;
  private arrivals = 0;
  private advancing = false;

  constructor(options: EngineOptions = {}) {
    this.options = resolveOptions(options);
    this.scheduler = new Scheduler(this.options, this.counters);
  }

  get running(): number {
    return this.scheduler.running.length;
  }

  /** Requests without a place, those whose KV is being fetched included. */
  get waiting(): number {
    return this.scheduler.waiting.size + this.scheduler.fetching.length;
  }

  /** Share of the KV blocks in use, 0..1. */
  get kvUsage(): number {
    return this.scheduler.pool.usage;
  }

  get evictions(): number {
    return this.scheduler.pool.evictions;
  }

  /** Context tokens of all requests, running or not. */
  get residentTokens(): number {
    const { running, waiting, fetching } = this.scheduler;
    let tokens = 0;
    for (const list of [running, waiting, fetching]) {
      for (const request of list) tokens += request.length;
    }
    return tokens;
  }

  /**
   * Queues a request that arrives at `nowMs`, which is not earlier than any time seen before.
   * @throws EngineRefusal for a prompt that can never fit, or a priority where none is scheduled.
   */
  submit(init: RequestInit, nowMs: number): EngineRequest {
    this.requireCaughtUp(nowMs);
    this.check(init);
    const given = init.priority ?? 0;
    const priority = this.options.highPriorityFirst ? -given : given;
    const order = this.arrivals++;
    const request = new EngineRequest(init, this.options.blockTokens, nowMs, order, priority);
    this.counters.submitted++;
    this.scheduler.waiting.add(request);
    this.wake(nowMs);
    return request;
  }

  /** @throws EngineRefusal where `submit` would. */
  check(init: RequestInit): void {
    const length = promptLength(init.prompt) + Math.max(1, init.outputTokens);
    if (length > this.options.maxModelTokens) {
      throw new EngineRefusal(
        `This model's maximum context length is ${this.options.maxModelTokens} tokens. ` +
          `However, you requested ${length} tokens.`,
        "too-long",
      );
    }
    if ((init.priority ?? 0) !== 0 && this.options.scheduling !== "priority") {
      throw new EngineRefusal(
        "Got priority " + String(init.priority) + " but priority scheduling is not enabled.",
        "priority-off",
      );
    }
  }

  /** Ends a request now; a no-op when it has ended. */
  abort(request: EngineRequest, nowMs: number): void {
    if (request.ended) return;
    this.scheduler.remove(request, nowMs);
    this.counters.aborted++;
    this.end(request, "aborted", nowMs);
    this.wake(nowMs);
  }

  /** Frees the blocks of a finished request that was submitted with `holdBlocks`. */
  releaseHeld(request: EngineRequest, nowMs: number): void {
    this.scheduler.freeBlocks(request);
    this.wake(nowMs);
  }

  /** Frees the KV of waiting sessions whose time has run out. */
  releaseRetained(nowMs: number): void {
    this.scheduler.retention.expire(nowMs);
  }

  /** Forgets every cached prefix, as a restarted engine would. */
  clearCache(): void {
    this.scheduler.pool.clear();
  }

  /** Goes on with a KV cache of that size, at most the one that it was built with. */
  resizeCache(kvTokens: number, nowMs: number): void {
    this.scheduler.pool.resize(Math.floor(kvTokens / this.options.blockTokens));
    this.wake(nowMs);
  }

  /** When something happens next; Infinity while the engine is idle. */
  nextEventMs(): number {
    if (this.batch !== null) return this.stepEndMs;
    return Math.min(this.wakeMs, this.scheduler.nextFetchMs());
  }

  /** Lets everything happen that is due up to and including `toMs`. */
  advance(toMs: number): void {
    this.advancing = true;
    for (;;) {
      const eventMs = Math.max(this.nowMs, this.nextEventMs());
      if (eventMs > toMs) break;
      this.nowMs = eventMs;
      if (this.batch !== null) this.finishStep(this.batch);
      this.startStep();
    }
    this.nowMs = Math.max(this.nowMs, toMs);
    this.advancing = false;
  }

  private requireCaughtUp(nowMs: number): void {
    // Within `advance` a fetch may have arrived during the step that has just ended.
    if (this.advancing || this.nextEventMs() >= nowMs) return;
    throw new Error(`Advance the engine to ${nowMs} ms before submitting at that time.`);
  }

  private wake(nowMs: number): void {
    this.wakeMs = Math.min(this.wakeMs, nowMs);
  }

  private startStep(): void {
    this.wakeMs = Infinity;
    const batch = this.scheduler.schedule(this.nowMs);
    if (batch.requests.length === 0) return;
    const durationMs = stepMs(this.options.cost, workOf(batch));
    this.batch = batch;
    this.stepEndMs = this.nowMs + durationMs;
    this.counters.steps++;
    this.counters.busyMs += durationMs;
  }

  private finishStep(batch: Batch): void {
    this.batch = null;
    this.stepEndMs = Infinity;
    for (const request of batch.requests) {
      if (request.state !== "running") continue; // Aborted while the step ran.
      this.settle(request);
    }
  }

  private settle(request: EngineRequest): void {
    const from = request.computed;
    request.computed += request.scheduled;
    request.scheduled = 0;
    const fresh = Math.max(0, request.computed - Math.max(from, request.highWater));
    const repeated = request.computed - from - fresh;
    request.highWater = Math.max(request.highWater, request.computed);
    request.computedTokens += fresh;
    request.recomputedTokens += repeated;
    this.counters.computedTokens += fresh;
    this.counters.recomputedTokens += repeated;
    if (request.computed < request.length) return;

    request.generated++;
    if (Number.isNaN(request.firstTokenMs)) {
      request.firstTokenMs = this.nowMs;
      this.scheduler.storeToTiers(request, this.nowMs);
    }
    request.sink.tokens?.(request, 1, this.nowMs);
    // The sink may have aborted it.
    if (request.ended || request.generated < request.outputTokens) return;
    this.scheduler.finish(request, this.nowMs);
    this.counters.done++;
    this.counters.promptTokens += request.promptTokens;
    this.counters.outputTokens += request.generated;
    this.end(request, "done", this.nowMs);
  }

  private end(request: EngineRequest, reason: "done" | "aborted", nowMs: number): void {
    request.state = "finished";
    request.endReason = reason;
    request.endMs = nowMs;
    request.sink.end?.(request, nowMs);
  }
}
