// SPDX-License-Identifier: Apache-2.0
// POST /v1/chat/completions as vLLM serves it, streamed and whole.
import { type Answer, type Delta, type FinishReason } from "./answer.ts";
import { readChat } from "./chat-request.ts";
import { type Exchange } from "./exchange.ts";
import { type Generation } from "./generation.ts";
import { type Gpu } from "./gpu.ts";
import { renderPrompt } from "./chat-template.ts";
import { type Json, objectOr, textOr } from "./json.ts";
import { startAnswers, type StartedAnswers } from "./start-answers.ts";
import { EventStream } from "./event-stream.ts";
import { completionTokens, SYSTEM_FINGERPRINT, chatUsageOf, withoutNulls } from "./usage.ts";

/** Answers one chat completion. */
export async function chatCompletions(gpu: Gpu, exchange: Exchange): Promise<void> {
  const body = exchange.json();
  const conversation = readChat(body);
  const prompts = [renderPrompt(conversation)];
  const answers = await startAnswers(gpu, exchange, { body, conversation, prompts });
  if (answers === null) return;
  const reply = new ChatReply(gpu, exchange, body, answers);
  if (body["stream"] === true) reply.stream();
  else reply.whole();
}

class ChatReply {
  private readonly id: string;
  private readonly created = Math.floor(Date.now() / 1000);
  private readonly model: string;
  private readonly includeUsage: boolean;
  private readonly continuousUsage: boolean;
  private open: number;

  constructor(
    private readonly gpu: Gpu,
    private readonly exchange: Exchange,
    body: Json,
    private readonly answers: StartedAnswers,
  ) {
    const options = objectOr(body["stream_options"]);
    this.id = gpu.newId("chatcmpl", exchange);
    this.model = textOr(body["model"], gpu.model);
    this.includeUsage = options["include_usage"] === true;
    this.continuousUsage = options["continuous_usage_stats"] === true;
    this.open = answers.generations.length;
  }

  stream(): void {
    const { generations, faults } = this.answers;
    const events = new EventStream(this.exchange, faults);
    const started = new Set<number>();
    generations.forEach((generation, index) => {
      generation.listener = {
        progress: (deltas, tokens, last) => {
          if (!started.has(index)) {
            started.add(index);
            events.start();
            events.data(this.chunk(index, { role: "assistant", content: "" }, null, 0));
          }
          const final = last ? this.finalDelta(generation, deltas) : null;
          for (const delta of deltas) {
            events.data(this.chunk(index, chatDelta(delta), null, tokens));
          }
          events.passed(tokens);
          if (final !== null) this.endChoice(events, generation, index, final);
        },
      };
    });
  }

  whole(): void {
    const { generations } = this.answers;
    for (const generation of generations) {
      generation.onEnd(() => {
        this.open--;
        if (this.open === 0) this.exchange.sendJson(200, this.completion());
      });
    }
  }

  /** The last token's text travels with the finish reason; an end token has none. */
  private finalDelta(generation: Generation, deltas: Delta[]): Json {
    const { finishReason } = generation.plan;
    if (finishReason === "length") {
      const delta = deltas.pop();
      return delta === undefined ? { content: "" } : chatDelta(delta);
    }
    return finishReason === "tool_calls" ? {} : { content: "" };
  }

  private endChoice(events: EventStream, generation: Generation, index: number, delta: Json): void {
    const reason = generation.plan.finishReason;
    const tokens = generation.request?.generated ?? 0;
    events.data(this.chunk(index, delta, reason, tokens));
    this.open--;
    if (this.open > 0) return;
    if (this.includeUsage) {
      events.data({
        ...this.frame("chat.completion.chunk"),
        choices: [],
        system_fingerprint: SYSTEM_FINGERPRINT,
        usage: withoutNulls(
          chatUsageOf(
            this.gpu,
            this.answers.generations,
            completionTokens(this.answers.generations),
          ),
        ),
      });
    }
    events.done();
  }

  private chunk(index: number, delta: Json, reason: FinishReason | null, tokens: number): Json {
    const choice: Json = { index, delta, logprobs: null, finish_reason: reason };
    if (reason !== null) choice["stop_reason"] = null;
    const chunk: Json = { ...this.frame("chat.completion.chunk"), choices: [choice] };
    // The last message of the stream carries it: the usage chunk where there is one.
    if (reason !== null && !this.includeUsage) chunk["system_fingerprint"] = SYSTEM_FINGERPRINT;
    if (this.continuousUsage)
      chunk["usage"] = chatUsageOf(this.gpu, this.answers.generations, tokens);
    return chunk;
  }

  private completion(): Json {
    const { generations } = this.answers;
    return {
      ...this.frame("chat.completion"),
      choices: generations.map(({ plan }, index) => ({
        index,
        message: {
          role: "assistant",
          content: plan.answer.text === "" ? null : plan.answer.text,
          refusal: null,
          annotations: null,
          audio: null,
          function_call: null,
          ...toolCallsOf(plan.answer),
          reasoning: null,
        },
        logprobs: null,
        finish_reason: plan.finishReason,
        stop_reason: null,
        token_ids: null,
      })),
      service_tier: null,
      system_fingerprint: SYSTEM_FINGERPRINT,
      usage: chatUsageOf(this.gpu, generations, completionTokens(generations)),
      prompt_logprobs: null,
      prompt_token_ids: null,
      kv_transfer_params: null,
    };
  }

  private frame(object: string): Json {
    return { id: this.id, object, created: this.created, model: this.model };
  }
}

/** The field is there only when there are calls. */
function toolCallsOf({ toolCalls }: Answer): Json {
  if (toolCalls.length === 0) return {};
  return {
    tool_calls: toolCalls.map((call) => ({
      id: call.id,
      type: "function",
      function: { name: call.name, arguments: call.arguments },
    })),
  };
}

function chatDelta(delta: Delta): Json {
  if (delta.kind === "text") return { content: delta.text };
  if (delta.kind === "arguments") {
    return { tool_calls: [{ index: delta.index, function: { arguments: delta.text } }] };
  }
  const { index, id, name } = delta;
  return { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] };
}
