// SPDX-License-Identifier: Apache-2.0
// One mock GPU without its sockets: engine, clock, faults, recorder, and the way from prompt to answer.
import { Engine, EngineRefusal } from "../engine/engine.ts";
import { type EngineOptions } from "../engine/options.ts";
import { type EngineRequest } from "../engine/request.ts";
import { PRESETS } from "../engine/step-cost.ts";
import { type AnswerPlan } from "./answer.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { Faults } from "./faults.ts";
import { Generation } from "./generation.ts";
import { GpuMetrics } from "./metrics.ts";
import { Recorder } from "./recorder.ts";
import { EngineDriver, WallClock } from "./wall-clock.ts";

export interface GpuOptions extends EngineOptions {
  /** Name that /v1/models answers and that responses carry. */
  model?: string;
  /** Engine milliseconds per wall millisecond. */
  speedup?: number;
  /** Report `cached_tokens` (vLLM's --enable-prompt-tokens-details). */
  promptTokensDetails?: boolean;
  /** Report `cached_tokens: 0` as well; vLLM leaves the whole object out when nothing was cached. */
  reportZeroCached?: boolean;
  /** Tool results that the model wants to see after a user message before it answers with text. */
  toolRounds?: number;
  /** Records kept by the recorder. */
  recordLimit?: number;
  /** Wall milliseconds after the start during which the engine is not ready (slow start). */
  startDelayMs?: number;
  /** Shares one engine clock among GPUs; default: a clock of its own. */
  clock?: WallClock;
}

/** A prompt ready for the engine. */
export interface PromptInput {
  tokens: Int32Array;
  cacheSalt?: string;
  adapter?: string;
  priority: number;
}

export class Gpu {
  readonly engine: Engine;
  readonly recorder: Recorder;
  readonly faults = new Faults();
  readonly clock: WallClock;
  readonly model: string;
  readonly metrics: GpuMetrics;
  /** Unix seconds; what vLLM calls `created`. */
  readonly startedAt = Math.floor(Date.now() / 1000);
  /** Requests that ended, for whoever counts them. */
  readonly endListeners: ((request: EngineRequest, plan: AnswerPlan) => void)[] = [];
  /** Open exchanges with generation in them, `/load`. */
  inFlight = 0;
  /** Called by a fault that kills the process. */
  onDie: () => void = () => undefined;
  private readonly driver: EngineDriver;
  private readonly touched = new Set<Generation>();
  private readonly readyAt: number;
  private serial = 0;

  constructor(
    readonly options: GpuOptions,
    readonly name: string,
    /** Survives a death and a revival. */
    recorder?: Recorder,
  ) {
    this.engine = new Engine(options);
    this.recorder = recorder ?? new Recorder(options.recordLimit);
    this.clock = options.clock ?? new WallClock(options.speedup);
    this.model = options.model ?? PRESETS[options.preset ?? "30b-a3b-h20"].model;
    this.driver = new EngineDriver(this.engine, this.clock, () => this.deliver());
    this.metrics = new GpuMetrics(this);
    this.readyAt = performance.now() + (options.startDelayMs ?? 0);
  }

  /** False during a slow start. */
  get ready(): boolean {
    return performance.now() >= this.readyAt;
  }

  /** An id that is unique here; vLLM takes the client's `x-request-id` where there is one. */
  newId(prefix: string, exchange?: Exchange): string {
    const given = exchange?.header("x-request-id");
    if (given !== undefined) return `${prefix}-${given}`;
    return `${prefix}-${this.name.replace(/[^0-9a-zA-Z]/g, "")}${(this.serial++).toString(16).padStart(8, "0")}`;
  }

  /** Queues one answer. Progress goes to the generation's listener; the client's leaving aborts it. */
  generate(prompt: PromptInput, plan: AnswerPlan, exchange: Exchange): Generation {
    const generation = new Generation(plan, this.touched, (request) => {
      this.note(request, exchange);
      for (const listener of this.endListeners) listener(request, plan);
    });
    const nowMs = this.driver.present();
    generation.request = this.submit(prompt, plan, generation, nowMs);
    exchange.record.prompt_tokens = prompt.tokens.length;
    exchange.record.priority = prompt.priority;
    exchange.onLeave(() => this.abort(generation));
    this.driver.arm();
    return generation;
  }

  abort(generation: Generation): void {
    if (generation.request === null) return;
    generation.listener = null;
    this.engine.abort(generation.request, this.driver.present());
    this.driver.arm();
  }

  close(): void {
    this.driver.close();
  }

  private submit(
    prompt: PromptInput,
    plan: AnswerPlan,
    sink: Generation,
    nowMs: number,
  ): EngineRequest {
    try {
      return this.engine.submit(
        {
          prompt,
          outputTokens: plan.tokenIds.length,
          outputTokenIds: plan.tokenIds,
          priority: prompt.priority,
          endsInWait: plan.finishReason === "tool_calls",
          sink,
        },
        nowMs,
      );
    } catch (error) {
      if (error instanceof EngineRefusal) throw new HttpError(400, error.message);
      throw error;
    }
  }

  private deliver(): void {
    // A listener may start or abort generations: only what was touched so far is due.
    const due = [...this.touched];
    this.touched.clear();
    for (const generation of due) generation.deliver();
  }

  private note(request: EngineRequest, exchange: Exchange): void {
    const { record } = exchange;
    record.cached_tokens = Math.max(0, request.cachedTokens);
    record.output_tokens += request.generated;
    record.ttft_ms = Number.isNaN(request.firstTokenMs)
      ? null
      : request.firstTokenMs - request.arrivalMs;
    record.e2e_ms = request.endMs - request.arrivalMs;
  }
}
