// SPDX-License-Identifier: Apache-2.0
// One mock GPU without its sockets: engine, clock, faults, recorder, and the way from prompt to answer.
import { EngineRefusal } from "../engine/engine.ts";
import { type EngineOptions } from "../engine/options.ts";
import { type ServedRequest } from "../engine/request.ts";
import { PRESETS } from "../engine/step-cost.ts";
import { type AnswerPlan } from "./answer.ts";
import { type Backend } from "./backend.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { Faults } from "./faults.ts";
import { Generation } from "./generation.ts";
import { type MetricRegistry } from "./metric-registry.ts";
import { gpuMetrics } from "./metrics.ts";
import { ResponseStore } from "./response-store.ts";
import { Recorder } from "./recorder.ts";
import { type WallClock } from "./wall-clock.ts";

export type EngineDialect = "vllm" | "sglang";

export interface GpuOptions extends EngineOptions {
  /** Name that /v1/models answers and that responses carry. */
  model?: string;
  /** Engine milliseconds per wall millisecond. */
  speedup?: number;
  /** Wall milliseconds; default: the machine's clock. */
  wallMs?: () => number;
  /** Whose metric names, priority order and switches; default vllm. */
  engine?: EngineDialect;
  /**
   * Report `cached_tokens`: vLLM's --enable-prompt-tokens-details, SGLang's --enable-cache-report.
   * Default: on.
   */
  promptTokensDetails?: boolean;
  /**
   * Report `cached_tokens: 0` as well; SGLang and older versions of vLLM leave the whole object out
   * when nothing was cached. Default: as the engine does now.
   */
  reportZeroCached?: boolean;
  /**
   * Report the tokens that a request added to the cache as well, as vLLM 0.32 does for chat and
   * Messages; `input_tokens` of Messages is then what remains beyond whole blocks. Default: off.
   */
  reportCreatedTokens?: boolean;
  /** Keep Responses answers for `previous_response_id` (VLLM_ENABLE_RESPONSES_API_STORE); default: on. */
  responseStore?: boolean;
  /** Another seed, other invented answers. Endpoints of one fleet need the same. */
  seed?: number;
  /** Tool results that the model wants to see after a user message before it answers with text. */
  toolRounds?: number;
  /** Records kept by the recorder. */
  recordLimit?: number;
  /** Wall milliseconds after the start during which the engine is not ready (slow start). */
  startDelayMs?: number;
}

/** Engine options with the defaults of the engine that is mocked: SGLang caches by the token. */
export function engineOptionsOf<T extends GpuOptions>(options: T): T {
  if (options.engine !== "sglang") return options;
  return {
    ...options,
    blockTokens: options.blockTokens ?? 1,
    highPriorityFirst: options.highPriorityFirst ?? true,
  };
}

/** A prompt ready for the engine. */
export interface PromptInput {
  tokens: Int32Array;
  cacheSalt?: string;
  adapter?: string;
  priority: number;
}

export class Gpu {
  readonly recorder: Recorder;
  readonly faults = new Faults();
  readonly model: string;
  readonly metrics: MetricRegistry;
  readonly dialect: EngineDialect;
  /** Answers of this process that a Responses request may refer to. */
  readonly responses = new ResponseStore();
  /** Unix seconds; what vLLM calls `created`. */
  readonly startedAt = Math.floor(Date.now() / 1000);
  /** Requests that ended, for whoever counts them. */
  readonly endListeners: ((request: ServedRequest, plan: AnswerPlan) => void)[] = [];
  /** Open exchanges with generation in them, `/load`. */
  inFlight = 0;
  /** Called by a fault that kills the process. */
  onDie: () => void = () => undefined;
  private readonly touched = new Set<Generation>();
  private readyAtMs = 0;
  private serial = 0;

  constructor(
    readonly options: GpuOptions,
    readonly name: string,
    private readonly backend: Backend,
    readonly clock: WallClock,
  ) {
    this.recorder = new Recorder(options.recordLimit);
    this.model = options.model ?? PRESETS[options.preset ?? "30b-a3b-h20"].model;
    this.dialect = options.engine ?? "vllm";
    this.metrics = gpuMetrics(this);
    this.restart();
    clock.onAdvance(() => this.deliver());
  }

  get engine(): Backend["engine"] {
    return this.backend.engine;
  }

  /** False during a slow start. */
  get ready(): boolean {
    return performance.now() >= this.readyAtMs;
  }

  /** A new process: nothing cached, and not ready before its start delay is over. */
  restart(): void {
    this.engine.clearCache();
    this.responses.clear();
    this.readyAtMs = performance.now() + (this.options.startDelayMs ?? 0);
  }

  /** An id that is unique here; vLLM takes the client's `x-request-id` where there is one. */
  newId(prefix: string, exchange?: Exchange): string {
    const given = exchange?.header("x-request-id");
    if (given !== undefined) return `${prefix}-${given}`;
    const place = this.name.replace(/[^0-9a-zA-Z]/g, "");
    return `${prefix}-${place}${(this.serial++).toString(16).padStart(8, "0")}`;
  }

  /** The header wins over the body; what is not a whole number is ignored, as in vLLM. */
  priorityOf(exchange: Exchange, field: unknown): number {
    const header = this.dialect === "vllm" ? exchange.header("x-vllm-priority")?.trim() : undefined;
    const given = typeof field === "number" ? Math.trunc(field) : 0;
    const priority = header !== undefined && /^[+-]?\d+$/.test(header) ? Number(header) : given;
    // SGLang ignores a priority where it does not schedule by it; vLLM's engine refuses it.
    const ignored = this.dialect === "sglang" && this.engine.options.scheduling !== "priority";
    return ignored ? 0 : priority;
  }

  /** Queues one answer. Progress goes to the generation's listener; the client's leaving aborts it. */
  generate(prompt: PromptInput, plan: AnswerPlan, exchange: Exchange): Generation {
    const generation = new Generation(plan, this.touched, (request) => {
      note(request, exchange);
      for (const listener of this.endListeners) listener(request, plan);
    });
    const nowMs = this.clock.present();
    generation.request = this.submit(prompt, plan, generation, nowMs);
    exchange.record.prompt_tokens = prompt.tokens.length;
    exchange.record.priority = prompt.priority;
    exchange.onLeave(() => this.abort(generation));
    this.clock.arm();
    return generation;
  }

  private abort(generation: Generation): void {
    if (generation.request === null) return;
    generation.listener = null;
    this.backend.abort(generation.request, this.clock.present());
    this.clock.arm();
  }

  private submit(
    prompt: PromptInput,
    plan: AnswerPlan,
    sink: Generation,
    nowMs: number,
  ): ServedRequest {
    try {
      return this.backend.submit(
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
}

function note(request: ServedRequest, exchange: Exchange): void {
  const { record } = exchange;
  record.cached_tokens = Math.max(0, request.cachedTokens);
  record.output_tokens += request.generated;
  const ttftMs = request.firstTokenMs - request.arrivalMs;
  record.ttft_ms = Number.isNaN(ttftMs) ? null : ttftMs;
  record.e2e_ms = request.endMs - request.arrivalMs;
}
