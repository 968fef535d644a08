// SPDX-License-Identifier: Apache-2.0
// Load in response headers when the request asks for it (ORCA), as vLLM sends it: at the response's start.
import { type Exchange } from "./exchange.ts";
import { type Gpu } from "./gpu.ts";

/** As Python prints it. */
function asFloat(value: number): string {
  return Number.isInteger(value) ? value.toFixed(1) : String(value);
}

/** Headers to add; empty unless `endpoint-load-metrics-format` is TEXT or JSON. */
export function orcaHeaders(gpu: Gpu, exchange: Exchange): () => Record<string, string> {
  const format = exchange.header("endpoint-load-metrics-format")?.toUpperCase();
  if (format !== "TEXT" && format !== "JSON") return () => ({});
  return () => {
    const metrics = {
      num_requests_waiting: gpu.engine.waiting,
      kv_cache_usage_perc: gpu.engine.kvUsage,
    };
    const text =
      format === "JSON"
        ? JSON.stringify({ named_metrics: metrics })
        : Object.entries(metrics)
            .map(([name, value]) => `named_metrics.${name}=${asFloat(value)}`)
            .join(", ");
    return { "endpoint-load-metrics": `${format} ${text}` };
  };
}
