// SPDX-License-Identifier: Apache-2.0
// POST /v1/completions: one prompt or a batch, as text or as token ids.
import { type Delta, type FinishReason } from "./answer.ts";
import { readTokenIds } from "./controls.ts";
import { newConversation } from "./conversation.ts";
import { EventStream } from "./event-stream.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type Gpu } from "./gpu.ts";
import { type Json, objectOr, textOr } from "./json.ts";
import { startAnswers, type StartedAnswers } from "./start-answers.ts";
import { TokenList, tokenize } from "./tokenizer.ts";
import { completionTokens, SYSTEM_FINGERPRINT, usageOf, withoutNulls } from "./usage.ts";

export async function completions(gpu: Gpu, exchange: Exchange): Promise<void> {
  const body = exchange.json();
  const prompts = readPrompts(body["prompt"]);
  const conversation = newConversation();
  const answers = await startAnswers(gpu, exchange, { body, conversation, prompts });
  if (answers === null) return;
  const frame: Json = {
    id: gpu.newId("cmpl", exchange),
    object: "text_completion",
    created: Math.floor(Date.now() / 1000),
    model: textOr(body["model"], gpu.model),
  };
  if (body["stream"] === true) stream(gpu, exchange, frame, body, answers);
  else whole(gpu, exchange, frame, answers);
}

/** A string, a list of strings, token ids, or a list of lists of token ids. */
function readPrompts(prompt: unknown): Int32Array[] {
  if (typeof prompt === "string") return [textTokens(prompt)];
  const ids = readTokenIds(prompt);
  if (ids !== null) return [ids];
  if (!Array.isArray(prompt) || prompt.length === 0) {
    throw new HttpError(400, "Field required: prompt");
  }
  return prompt.map((entry) => {
    if (typeof entry === "string") return textTokens(entry);
    const entryIds = readTokenIds(entry);
    if (entryIds === null) throw new HttpError(400, "A prompt is text or token ids.");
    return entryIds;
  });
}

function textTokens(text: string): Int32Array {
  const tokens = new TokenList();
  tokenize(text, tokens);
  return tokens.view();
}

function stream(
  gpu: Gpu,
  exchange: Exchange,
  frame: Json,
  body: Json,
  { generations, faults }: StartedAnswers,
): void {
  const events = new EventStream(exchange, faults);
  const includeUsage = objectOr(body["stream_options"])["include_usage"] === true;
  let open = generations.length;
  generations.forEach((generation, index) => {
    generation.listener = {
      progress: (deltas, tokens, last) => {
        events.start();
        const text = deltas.map(shownText).join("");
        const reason = last ? generation.plan.finishReason : null;
        if (text !== "" || last) events.data({ ...frame, choices: [choice(index, text, reason)] });
        events.passed(tokens);
        if (last) open--;
        if (open > 0) return;
        const usage = withoutNulls(usageOf(gpu, generations, completionTokens(generations)));
        const system_fingerprint = SYSTEM_FINGERPRINT;
        if (includeUsage) events.data({ ...frame, choices: [], usage, system_fingerprint });
        events.done();
      },
    };
  });
}

function whole(gpu: Gpu, exchange: Exchange, frame: Json, { generations }: StartedAnswers): void {
  let open = generations.length;
  for (const generation of generations) {
    generation.onEnd(() => {
      open--;
      if (open > 0) return;
      const choices = generations.map(({ plan }, index) =>
        choice(index, plan.answer.text, plan.finishReason),
      );
      const usage = usageOf(gpu, generations, completionTokens(generations));
      exchange.sendJson(200, { ...frame, choices, system_fingerprint: SYSTEM_FINGERPRINT, usage });
    });
  }
}

function choice(index: number, text: string, reason: FinishReason | null): Json {
  return { index, text, logprobs: null, finish_reason: reason, stop_reason: null };
}

function shownText(delta: Delta): string {
  return delta.kind === "call" ? delta.name : delta.text;
}
