// SPDX-License-Identifier: Apache-2.0
// GET /metrics in the engine's own names. Times are what a client sees: engine time over the speedup.
import { type AnswerPlan } from "./answer.ts";
import { type ServedRequest } from "../engine/request.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type Gpu } from "./gpu.ts";
import { MetricRegistry } from "./metric-registry.ts";

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

/** The registry of one GPU, fed by the ends of its requests. */
export function gpuMetrics(gpu: Gpu): MetricRegistry {
  return gpu.dialect === "sglang" ? sglangMetrics(gpu) : vllmMetrics(gpu);
}

function vllmMetrics(gpu: Gpu): MetricRegistry {
  const registry = new MetricRegistry("vllm", { model_name: gpu.model, engine: "0" });
  const { engine } = gpu;
  const { counters } = engine;
  registry.gauge("num_requests_running", "Requests in execution batches.", () => engine.running);
  registry.gauge("num_requests_waiting", "Requests waiting for a place.", () => engine.waiting);
  registry.gauge("kv_cache_usage_perc", "KV-cache usage, 1 is full.", () => engine.kvUsage);
  registry.info("cache_config_info", "Information of the cache configuration.", {
    block_size: engine.options.blockTokens,
    // vLLM counts its null block as well.
    num_gpu_blocks: engine.options.kvBlocks + 1,
    enable_prefix_caching: engine.options.prefixCaching ? "True" : "False",
  });
  registry.counter("prefix_cache_queries_total", "Tokens looked up.", () => counters.queriedTokens);
  registry.counter("prefix_cache_hits_total", "Tokens found.", () => counters.hitTokens);
  registry.counter(
    "external_prefix_cache_queries_total",
    "Tokens looked up in slower tiers.",
    () => counters.queriedTokens - counters.hitTokens,
  );
  registry.counter(
    "external_prefix_cache_hits_total",
    "Tokens fetched from slower tiers.",
    () => counters.fetchedTokens,
  );
  registry.counter("num_preemptions_total", "Preemptions.", () => counters.preemptions);
  registry.counter("prompt_tokens_total", "Prefill tokens.", () => counters.promptTokens);
  registry.counter("generation_tokens_total", "Generated tokens.", () => counters.outputTokens);
  const finished = registry.labelledCounter(
    "request_success_total",
    "Finished requests.",
    "finished_reason",
  );
  gpu.endListeners.push((request, plan) => {
    finished.inc({ finished_reason: vllmReason(request, plan) });
  });
  addLatencies(gpu, registry, "time_to_first_token_seconds", "inter_token_latency_seconds");
  const seconds = secondsOf(gpu);
  registry.histogram("request_queue_time_seconds", "Time waiting.", LONG_SECONDS, (request) =>
    seconds(request.firstScheduledMs - request.arrivalMs),
  );
  registry.histogram("request_prefill_time_seconds", "Time in prefill.", LONG_SECONDS, (request) =>
    seconds(request.firstTokenMs - request.firstScheduledMs),
  );
  registry.histogram("request_decode_time_seconds", "Time in decode.", LONG_SECONDS, (request) =>
    seconds(request.endMs - request.firstTokenMs),
  );
  registry.histogram(
    "request_prompt_tokens",
    "Prompt tokens.",
    LENGTHS,
    (request) => request.promptTokens,
  );
  registry.histogram(
    "request_generation_tokens",
    "Generated tokens.",
    LENGTHS,
    (request) => request.generated,
  );
  return registry;
}

function sglangMetrics(gpu: Gpu): MetricRegistry {
  const registry = new MetricRegistry("sglang", { model_name: gpu.model, engine_type: "unified" });
  const { engine } = gpu;
  const { counters } = engine;
  const capacity = engine.options.kvBlocks * engine.options.blockTokens;
  registry.gauge("num_running_reqs", "Running requests.", () => engine.running);
  registry.gauge("num_queue_reqs", "Requests in the waiting queue.", () => engine.waiting);
  registry.gauge("token_usage", "Share of the KV cache in use.", () => engine.kvUsage);
  registry.gauge("num_used_tokens", "Tokens in use.", () => Math.round(engine.kvUsage * capacity));
  registry.gauge("max_total_num_tokens", "Tokens of the KV cache.", () => capacity);
  registry.gauge("cache_hit_rate", "Prefix cache hit rate.", () =>
    counters.queriedTokens === 0 ? 0 : counters.hitTokens / counters.queriedTokens,
  );
  registry.counter("prompt_tokens_total", "Prefill tokens.", () => counters.promptTokens);
  registry.counter("generation_tokens_total", "Generated tokens.", () => counters.outputTokens);
  registry.counter("cached_tokens_total", "Cached prompt tokens.", () => counters.hitTokens);
  registry.counter("num_requests_total", "Finished requests.", () => counters.done);
  registry.counter("num_aborted_requests_total", "Aborted requests.", () => counters.aborted);
  addLatencies(gpu, registry, "time_to_first_token_seconds", "inter_token_latency_seconds");
  return registry;
}

function addLatencies(gpu: Gpu, registry: MetricRegistry, first: string, between: string): void {
  const seconds = secondsOf(gpu);
  registry.histogram(first, "Time to first token.", SECONDS, (request) =>
    seconds(request.firstTokenMs - request.arrivalMs),
  );
  registry.histogram(between, "Time between tokens.", TOKEN_SECONDS, (request) =>
    request.generated < 2
      ? null
      : seconds((request.endMs - request.firstTokenMs) / (request.generated - 1)),
  );
  registry.histogram("e2e_request_latency_seconds", "Request latency.", LONG_SECONDS, (request) =>
    seconds(request.endMs - request.arrivalMs),
  );
  gpu.endListeners.push((request) => {
    if (request.endReason === "done") registry.observe(request);
  });
}

function secondsOf(gpu: Gpu): (engineMs: number) => number {
  return (engineMs) => engineMs / gpu.clock.speedup / 1000;
}

function vllmReason(request: ServedRequest, plan: AnswerPlan): string {
  if (request.endReason === "aborted") return "abort";
  return plan.finishReason === "length" ? "length" : "stop";
}
