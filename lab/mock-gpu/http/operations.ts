// SPDX-License-Identifier: Apache-2.0
// What operators and load balancers ask for: health, load, models, version, token counts.
import { readChat } from "./chat-request.ts";
import { renderPrompt } from "./chat-template.ts";
import { type Exchange } from "./exchange.ts";
import { type Gpu } from "./gpu.ts";
import { textOr } from "./json.ts";
import { TokenList, tokenize } from "./tokenizer.ts";

/** 200 without a body, as in vLLM; 503 while starting or told to fail. */
export function health(gpu: Gpu, exchange: Exchange): void {
  exchange.send(gpu.ready && !gpu.faults.healthFails ? 200 : 503, "text/plain", "");
}

/** Requests under way (vLLM's --enable-server-load-tracking). */
export function load(gpu: Gpu, exchange: Exchange): void {
  exchange.sendJson(200, { server_load: gpu.inFlight });
}

export function version(gpu: Gpu, exchange: Exchange): void {
  exchange.sendJson(200, { version: `mock-${gpu.dialect}` });
}

export function models(gpu: Gpu, exchange: Exchange): void {
  exchange.sendJson(200, {
    object: "list",
    data: [
      {
        id: gpu.model,
        object: "model",
        created: gpu.startedAt,
        owned_by: gpu.dialect,
        root: gpu.model,
        parent: null,
        max_model_len: gpu.engine.options.maxModelTokens,
      },
    ],
  });
}

/** POST /tokenize with a prompt or with messages. */
export function tokenizePrompt(gpu: Gpu, exchange: Exchange): void {
  const body = exchange.json();
  const tokens = new TokenList();
  if (typeof body["prompt"] === "string") tokenize(textOr(body["prompt"]), tokens);
  const ids = "messages" in body ? renderPrompt(readChat(body)) : tokens.view();
  exchange.sendJson(200, {
    count: ids.length,
    max_model_len: gpu.engine.options.maxModelTokens,
    tokens: [...ids],
    token_strs: null,
  });
}
