// SPDX-License-Identifier: Apache-2.0
// What operators and load balancers ask for: health, models.
import { type Exchange } from "./exchange.ts";
import { type Gpu } from "./gpu.ts";

/** 200 without a body, as in vLLM; 503 while starting or told to fail. */
export function health(gpu: Gpu, exchange: Exchange): void {
  exchange.send(gpu.ready && !gpu.faults.healthFails ? 200 : 503, "text/plain", "");
}

export function models(gpu: Gpu, exchange: Exchange): void {
  exchange.sendJson(200, {
    object: "list",
    data: [
      {
        id: gpu.model,
        object: "model",
        created: gpu.startedAt,
        owned_by: "vllm",
        root: gpu.model,
        parent: null,
        max_model_len: gpu.engine.options.maxModelTokens,
      },
    ],
  });
}
