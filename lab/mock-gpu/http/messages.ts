// SPDX-License-Identifier: Apache-2.0
// POST /v1/messages: Anthropic's Messages as vLLM serves them, streamed and whole.
import { type Delta, type FinishReason } from "./answer.ts";
import { renderPrompt } from "./chat-template.ts";
import { EventStream } from "./event-stream.ts";
import { type Exchange } from "./exchange.ts";
import { type Generation } from "./generation.ts";
import { type Gpu } from "./gpu.ts";
import { type Json, textOr } from "./json.ts";
import { readMessages } from "./messages-request.ts";
import { startAnswers } from "./start-answers.ts";
import { reportedCachedTokens, reportedCreatedTokens } from "./usage.ts";

const STOP_REASONS: Record<FinishReason, string> = {
  stop: "end_turn",
  length: "max_tokens",
  tool_calls: "tool_use",
};

export async function messages(gpu: Gpu, exchange: Exchange): Promise<void> {
  exchange.errorStyle = "anthropic";
  const body = exchange.json();
  const conversation = readMessages(body);
  const prompts = [renderPrompt(conversation)];
  const request = { body, conversation, prompts, compactArguments: true };
  const answers = await startAnswers(gpu, exchange, request);
  const generation = answers?.generations[0];
  if (answers === null || generation === undefined) return;
  const reply = new MessageReply(gpu, body, generation, gpu.newId("msg", exchange));
  if (body["stream"] === true) reply.stream(new EventStream(exchange, answers.faults));
  else reply.whole(exchange);
}

/** POST /v1/messages/count_tokens: no generation. */
export function countTokens(_gpu: Gpu, exchange: Exchange): void {
  const tokens = renderPrompt(readMessages(exchange.json()));
  exchange.sendJson(200, { input_tokens: tokens.length });
}

class MessageReply {
  private readonly model: string;
  /** Kind and number of the content block under way. */
  private block: { kind: "text" | "tool_use"; index: number } | null = null;
  private started = false;
  private blocks = 0;

  constructor(
    private readonly gpu: Gpu,
    body: Json,
    private readonly generation: Generation,
    private readonly id: string,
  ) {
    this.model = textOr(body["model"], gpu.model);
  }

  whole(exchange: Exchange): void {
    const { plan } = this.generation;
    this.generation.onEnd(() => {
      const content: Json[] = plan.answer.toolCalls.map((call) => ({
        type: "tool_use",
        id: call.id,
        name: call.name,
        input: parseArguments(call.arguments),
      }));
      if (plan.answer.text !== "") content.unshift({ type: "text", text: plan.answer.text });
      exchange.sendJson(200, {
        ...this.frame(content),
        stop_reason: STOP_REASONS[plan.finishReason],
        usage: this.usage(),
      });
    });
  }

  stream(events: EventStream): void {
    this.generation.listener = {
      progress: (deltas, tokens, last) => {
        if (!this.started) this.start(events);
        for (const delta of deltas) this.write(events, delta);
        events.passed(tokens);
        if (last) this.finish(events);
      },
    };
  }

  private finish(events: EventStream): void {
    this.stopBlock(events);
    const stopReason = STOP_REASONS[this.generation.plan.finishReason];
    events.event("message_delta", {
      type: "message_delta",
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: this.usage(),
    });
    events.event("message_stop", { type: "message_stop" });
    events.end();
  }

  private start(events: EventStream): void {
    this.started = true;
    events.start();
    // At the start vLLM knows the prompt's length, not yet what was cached of it.
    const usage = { input_tokens: this.generation.request?.promptTokens ?? 0, output_tokens: 0 };
    const message = { ...this.frame([]), stop_reason: null, stop_sequence: null, usage };
    events.event("message_start", { type: "message_start", message });
  }

  private write(events: EventStream, delta: Delta): void {
    if (delta.kind === "call") {
      const { id, name } = delta;
      this.startBlock(events, "tool_use", { type: "tool_use", id, name, input: {} });
    } else if (delta.kind === "text" && this.block?.kind !== "text") {
      this.startBlock(events, "text", { type: "text", text: "" });
    }
    const piece =
      delta.kind === "text"
        ? { type: "text_delta", text: delta.text }
        : { type: "input_json_delta", partial_json: delta.kind === "call" ? "" : delta.text };
    events.event("content_block_delta", {
      type: "content_block_delta",
      index: this.block?.index ?? 0,
      delta: piece,
    });
  }

  private startBlock(events: EventStream, kind: "text" | "tool_use", block: Json): void {
    this.stopBlock(events);
    this.block = { kind, index: this.blocks++ };
    events.event("content_block_start", {
      type: "content_block_start",
      index: this.block.index,
      content_block: block,
    });
  }

  private stopBlock(events: EventStream): void {
    if (this.block === null) return;
    const { index } = this.block;
    events.event("content_block_stop", { type: "content_block_stop", index });
    this.block = null;
  }

  private frame(content: Json[]): Json {
    return {
      id: this.id,
      type: "message",
      role: "assistant",
      model: this.model,
      content,
    };
  }

  /** `input_tokens` is what had to be computed; cache keys are absent where nothing is known. */
  private usage(): Json {
    const { request } = this.generation;
    const promptTokens = request?.promptTokens ?? 0;
    const outputTokens = request?.generated ?? 0;
    const cached = reportedCachedTokens(this.gpu, [this.generation]);
    if (cached === null) return { input_tokens: promptTokens, output_tokens: outputTokens };
    const created = reportedCreatedTokens(this.gpu, [this.generation]);
    return {
      input_tokens: promptTokens - cached - (created ?? 0),
      output_tokens: outputTokens,
      ...(created === null ? {} : { cache_creation_input_tokens: created }),
      cache_read_input_tokens: cached,
    };
  }
}

/** A call that was cut by max_tokens has no complete arguments. */
function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
