// SPDX-License-Identifier: Apache-2.0
// POST /generate: SGLang's own form, text or token ids, streamed or whole.
import { readTokenIds } from "./controls.ts";
import { newConversation } from "./conversation.ts";
import { EventStream } from "./event-stream.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type Generation } from "./generation.ts";
import { type Gpu } from "./gpu.ts";
import { type Json, objectOr } from "./json.ts";
import { startAnswers } from "./start-answers.ts";
import { TokenList, tokenize } from "./tokenizer.ts";

/** Only SGLang has this path. */
export async function generate(gpu: Gpu, exchange: Exchange): Promise<void> {
  if (gpu.dialect !== "sglang") throw new HttpError(404, "Not Found");
  const body = exchange.json();
  const sampling = objectOr(body["sampling_params"]);
  const limits = {
    ...body,
    max_tokens: sampling["max_new_tokens"] ?? 128,
    ignore_eos: sampling["ignore_eos"],
  };
  const conversation = newConversation();
  const prompts = [readPrompt(body)];
  const answers = await startAnswers(gpu, exchange, { body: limits, conversation, prompts });
  const generation = answers?.generations[0];
  if (answers === null || generation === undefined) return;
  const events = body["stream"] === true ? new EventStream(exchange, answers.faults) : null;
  let text = "";
  generation.listener = {
    progress: (deltas, tokens, last) => {
      for (const delta of deltas) text += delta.kind === "call" ? delta.name : delta.text;
      const reason = last ? { type: generation.plan.finishReason } : null;
      // Each event repeats all text so far.
      const reply = { text, meta_info: metaInfo(generation, reason) };
      if (events === null) {
        if (last) exchange.sendJson(200, reply);
        return;
      }
      events.start();
      events.data(reply);
      events.passed(tokens);
      if (last) events.done();
    },
  };
}

function readPrompt(body: Json): Int32Array {
  const ids = readTokenIds(body["input_ids"]);
  if (ids !== null) return ids;
  if (typeof body["text"] !== "string") throw new HttpError(400, "Either text or input_ids.");
  const tokens = new TokenList();
  tokenize(body["text"], tokens);
  return tokens.view();
}

function metaInfo({ request }: Generation, reason: Json | null): Json {
  return {
    id: request?.id,
    finish_reason: reason,
    prompt_tokens: request?.promptTokens,
    completion_tokens: request?.generated,
    cached_tokens: Math.max(0, request?.cachedTokens ?? 0),
  };
}
