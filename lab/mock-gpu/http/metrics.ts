// SPDX-License-Identifier: Apache-2.0
// GET /metrics in vLLM's names. Times are what a client sees: engine time divided by the speedup.
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type ServedRequest } from "../engine/request.ts";
import { type AnswerPlan } from "./answer.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type Gpu } from "./gpu.ts";

const SECONDS = [
  0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
];
const LONG_SECONDS = [0.3, 0.5, 0.8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480];
const TOKEN_SECONDS = [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1];
const LENGTHS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000];

export async function metrics(gpu: Gpu, exchange: Exchange): Promise<void> {
  if (gpu.faults.metricsAbsent) throw new HttpError(404, "Not Found");
  const text = await gpu.metrics.text();
  exchange.send(200, gpu.metrics.contentType, text);
}

/** Kept per GPU, so that a hundred of them in one process do not share a registry. */
export class GpuMetrics {
  private readonly registry = new Registry();
  private readonly finished: Counter<"finished_reason">;
  private readonly histograms: {
    ttft: Histogram;
    perToken: Histogram;
    endToEnd: Histogram;
    queue: Histogram;
    prefill: Histogram;
    decode: Histogram;
    promptTokens: Histogram;
    outputTokens: Histogram;
  };

  constructor(private readonly gpu: Gpu) {
    this.registry.setDefaultLabels({ model_name: gpu.model, engine: "0" });
    this.addGauges();
    this.addCounters();
    this.finished = new Counter({
      name: "vllm:request_success_total",
      help: "Count of successfully processed requests.",
      labelNames: ["finished_reason"],
      registers: [this.registry],
    });
    this.histograms = {
      ttft: this.histogram("time_to_first_token_seconds", "time to first token", SECONDS),
      perToken: this.histogram("inter_token_latency_seconds", "inter-token latency", TOKEN_SECONDS),
      endToEnd: this.histogram("e2e_request_latency_seconds", "request latency", LONG_SECONDS),
      queue: this.histogram("request_queue_time_seconds", "time waiting", LONG_SECONDS),
      prefill: this.histogram("request_prefill_time_seconds", "time in prefill", LONG_SECONDS),
      decode: this.histogram("request_decode_time_seconds", "time in decode", LONG_SECONDS),
      promptTokens: this.histogram("request_prompt_tokens", "prompt tokens", LENGTHS),
      outputTokens: this.histogram("request_generation_tokens", "generated tokens", LENGTHS),
    };
    gpu.endListeners.push((request, plan) => this.observe(request, plan));
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  text(): Promise<string> {
    return this.registry.metrics();
  }

  private observe(request: ServedRequest, plan: AnswerPlan): void {
    const reason = request.endReason === "aborted" ? "abort" : plan.finishReason;
    this.finished.inc({ finished_reason: reason === "tool_calls" ? "stop" : reason });
    if (request.endReason === "aborted") return;
    const { arrivalMs, firstScheduledMs, firstTokenMs, endMs } = request;
    const decodeMs = endMs - firstTokenMs;
    this.histograms.ttft.observe(this.seconds(firstTokenMs - arrivalMs));
    this.histograms.endToEnd.observe(this.seconds(endMs - arrivalMs));
    this.histograms.queue.observe(this.seconds(firstScheduledMs - arrivalMs));
    this.histograms.prefill.observe(this.seconds(firstTokenMs - firstScheduledMs));
    this.histograms.decode.observe(this.seconds(decodeMs));
    if (request.generated > 1) {
      this.histograms.perToken.observe(this.seconds(decodeMs / (request.generated - 1)));
    }
    this.histograms.promptTokens.observe(request.promptTokens);
    this.histograms.outputTokens.observe(request.generated);
  }

  private seconds(engineMs: number): number {
    return engineMs / this.gpu.clock.speedup / 1000;
  }

  private histogram(name: string, what: string, buckets: number[]): Histogram {
    const help = `Histogram of ${what}.`;
    return new Histogram({ name: `vllm:${name}`, help, buckets, registers: [this.registry] });
  }

  private addGauges(): void {
    const { engine } = this.gpu;
    this.gauge("num_requests_running", "Requests in execution batches.", () => engine.running);
    this.gauge("num_requests_waiting", "Requests waiting to be processed.", () => engine.waiting);
    this.gauge("kv_cache_usage_perc", "KV-cache usage, 1 is full.", () => engine.kvUsage);
    const { blockTokens, kvBlocks, prefixCaching } = engine.options;
    new Gauge({
      name: "vllm:cache_config_info",
      help: "Information of the cache configuration.",
      labelNames: ["block_size", "num_gpu_blocks", "enable_prefix_caching"],
      registers: [this.registry],
    }).set(
      {
        block_size: blockTokens,
        // vLLM counts its null block as well.
        num_gpu_blocks: kvBlocks + 1,
        enable_prefix_caching: prefixCaching ? "True" : "False",
      },
      1,
    );
  }

  private addCounters(): void {
    const { counters } = this.gpu.engine;
    this.counter("prefix_cache_queries", "Tokens looked up.", () => counters.queriedTokens);
    this.counter("prefix_cache_hits", "Tokens found.", () => counters.hitTokens);
    this.counter(
      "external_prefix_cache_queries",
      "Tokens looked up in slower tiers.",
      () => counters.queriedTokens - counters.hitTokens,
    );
    this.counter(
      "external_prefix_cache_hits",
      "Tokens fetched from slower tiers.",
      () => counters.fetchedTokens,
    );
    this.counter("num_preemptions", "Preemptions.", () => counters.preemptions);
    this.counter("prompt_tokens", "Prefill tokens processed.", () => counters.promptTokens);
    this.counter("generation_tokens", "Generation tokens.", () => counters.outputTokens);
  }

  private gauge(name: string, help: string, read: () => number): void {
    new Gauge({
      name: `vllm:${name}`,
      help,
      registers: [this.registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** The engine counts; the registry only shows it. */
  private counter(name: string, help: string, read: () => number): void {
    new Counter({
      name: `vllm:${name}_total`,
      help,
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
  }
}
