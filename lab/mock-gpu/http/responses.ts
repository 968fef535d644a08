// SPDX-License-Identifier: Apache-2.0
// POST /v1/responses: OpenAI's Responses as vLLM serves them, with a store that lives in this process.
import { type Delta } from "./answer.ts";
import { renderPrompt } from "./chat-template.ts";
import { EventStream } from "./event-stream.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type Generation } from "./generation.ts";
import { type Gpu } from "./gpu.ts";
import { type Json, textOr } from "./json.ts";
import { type StoredResponse } from "./response-store.ts";
import { inputItems, readResponses } from "./responses-request.ts";
import { startAnswers } from "./start-answers.ts";
import { reportedCachedTokens } from "./usage.ts";

export async function responses(gpu: Gpu, exchange: Exchange): Promise<void> {
  const body = exchange.json();
  if (body["conversation"] !== undefined && body["conversation"] !== null) {
    throw new HttpError(400, "This engine keeps no conversations.");
  }
  const history = previousItems(gpu, body["previous_response_id"]);
  const items = [...history, ...inputItems(body)];
  const conversation = readResponses(body, items);
  const prompts = [renderPrompt(conversation)];
  const answers = await startAnswers(gpu, exchange, { body, conversation, prompts });
  const generation = answers?.generations[0];
  if (answers === null || generation === undefined) return;
  const reply = new ResponseReply(gpu, body, items, generation);
  if (body["stream"] === true) reply.stream(new EventStream(exchange, answers.faults));
  else reply.whole(exchange);
}

/** GET /v1/responses/{id} */
export function getResponse(gpu: Gpu, exchange: Exchange): void {
  exchange.sendJson(200, stored(gpu, idOf(exchange)).response);
}

/** DELETE /v1/responses/{id} */
export function deleteResponse(gpu: Gpu, exchange: Exchange): void {
  const id = idOf(exchange);
  stored(gpu, id);
  gpu.responses.delete(id);
  exchange.sendJson(200, { id, object: "response", deleted: true });
}

function idOf(exchange: Exchange): string {
  return decodeURIComponent(exchange.url.pathname.split("/").pop() ?? "");
}

function previousItems(gpu: Gpu, id: unknown): unknown[] {
  return typeof id === "string" ? stored(gpu, id).items : [];
}

function stored(gpu: Gpu, id: string): StoredResponse {
  const entry = gpu.responses.get(id);
  if (entry !== undefined) return entry;
  const message = `Response with id '${id}' not found.`;
  throw new HttpError(404, message, "invalid_request_error", "response_id");
}

/** An output item under way in a stream. */
interface OpenItem {
  kind: "message" | "function_call";
  index: number;
  item: Json;
  text: string;
}

class ResponseReply {
  private readonly id: string;
  private readonly createdAt = Math.floor(Date.now() / 1000);
  private readonly output: Json[] = [];
  private open: OpenItem | null = null;
  private sequence = 0;
  private started = false;

  constructor(
    private readonly gpu: Gpu,
    private readonly body: Json,
    private readonly items: unknown[],
    private readonly generation: Generation,
  ) {
    this.id = gpu.newId("resp");
  }

  whole(exchange: Exchange): void {
    const { answer } = this.generation.plan;
    this.generation.onEnd(() => {
      if (answer.text !== "") this.output.push(this.messageItem(answer.text, "completed"));
      for (const call of answer.toolCalls) {
        this.output.push(this.callItem(call.id, call.name, call.arguments, "completed"));
      }
      const response = this.response(this.finalStatus());
      this.keep(response);
      exchange.sendJson(200, response);
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
    this.closeItem(events);
    const status = this.finalStatus();
    const response = this.response(status);
    this.keep(response);
    // vLLM names the event so for incomplete answers as well.
    this.emit(events, "response.completed", { response });
    events.end();
  }

  private start(events: EventStream): void {
    this.started = true;
    events.start();
    const response = this.response("in_progress");
    this.emit(events, "response.created", { response });
    this.emit(events, "response.in_progress", { response });
  }

  private write(events: EventStream, delta: Delta): void {
    if (delta.kind === "call") {
      this.openItem(
        events,
        "function_call",
        this.callItem(delta.id, delta.name, "", "in_progress"),
      );
      return;
    }
    if (delta.kind === "text" && this.open?.kind !== "message") this.openMessage(events);
    const open = this.open;
    if (open === null) return;
    open.text += delta.text;
    const place = { item_id: open.item["id"], output_index: open.index, delta: delta.text };
    if (delta.kind === "text") {
      const content = { ...place, content_index: 0, logprobs: [] };
      this.emit(events, "response.output_text.delta", content);
    } else {
      this.emit(events, "response.function_call_arguments.delta", place);
    }
  }

  private openMessage(events: EventStream): void {
    const item: Json = { ...this.messageItem("", "in_progress"), content: [] };
    this.openItem(events, "message", item);
    this.emit(events, "response.content_part.added", {
      item_id: item["id"],
      output_index: this.open?.index,
      content_index: 0,
      part: textPart(""),
    });
  }

  private openItem(events: EventStream, kind: OpenItem["kind"], item: Json): void {
    this.closeItem(events);
    this.open = { kind, index: this.output.length, item, text: "" };
    this.emit(events, "response.output_item.added", { output_index: this.open.index, item });
  }

  private closeItem(events: EventStream): void {
    const open = this.open;
    if (open === null) return;
    this.open = null;
    const place = { item_id: open.item["id"], output_index: open.index };
    const done: Json = { ...open.item, status: "completed" };
    if (open.kind === "message") {
      done["content"] = [textPart(open.text)];
      const content = { ...place, content_index: 0 };
      const text = { ...content, text: open.text, logprobs: [] };
      this.emit(events, "response.output_text.done", text);
      const part = { ...content, part: textPart(open.text) };
      this.emit(events, "response.content_part.done", part);
    } else {
      done["arguments"] = open.text;
      this.emit(events, "response.function_call_arguments.done", {
        ...place,
        name: open.item["name"],
        arguments: open.text,
      });
    }
    this.output.push(done);
    this.emit(events, "response.output_item.done", { output_index: open.index, item: done });
  }

  private emit(events: EventStream, type: string, fields: Json): void {
    events.event(type, { type, sequence_number: this.sequence++, ...fields });
  }

  private messageItem(text: string, status: string): Json {
    return {
      id: this.gpu.newId("msg"),
      type: "message",
      role: "assistant",
      status,
      content: [textPart(text)],
    };
  }

  private callItem(callId: string, name: string, args: string, status: string): Json {
    const id = this.gpu.newId("fc");
    return { id, type: "function_call", call_id: callId, name, arguments: args, status };
  }

  private keep(response: Json): void {
    if (this.gpu.options.responseStore === false || this.body["store"] === false) return;
    this.gpu.responses.add(this.id, { response, items: [...this.items, ...this.output] });
  }

  private finalStatus(): "completed" | "incomplete" {
    return this.generation.plan.finishReason === "length" ? "incomplete" : "completed";
  }

  private response(status: "in_progress" | "completed" | "incomplete"): Json {
    const { body } = this;
    return {
      id: this.id,
      object: "response",
      created_at: this.createdAt,
      status,
      background: false,
      error: null,
      incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
      instructions: body["instructions"] ?? null,
      max_output_tokens: body["max_output_tokens"] ?? null,
      metadata: body["metadata"] ?? null,
      model: textOr(body["model"], this.gpu.model),
      output: status === "in_progress" ? [] : this.output,
      parallel_tool_calls: body["parallel_tool_calls"] ?? true,
      previous_response_id: body["previous_response_id"] ?? null,
      reasoning: body["reasoning"] ?? null,
      service_tier: "auto",
      temperature: body["temperature"] ?? 1,
      text: body["text"] ?? null,
      tool_choice: body["tool_choice"] ?? "auto",
      tools: body["tools"] ?? [],
      top_p: body["top_p"] ?? 1,
      truncation: body["truncation"] ?? "disabled",
      usage: status === "in_progress" ? null : this.usage(),
      user: body["user"] ?? null,
    };
  }

  private usage(): Json {
    const request = this.generation.request;
    const inputTokens = request?.promptTokens ?? 0;
    const outputTokens = request?.generated ?? 0;
    return {
      input_tokens: inputTokens,
      // OpenAI's type demands the field: an engine that does not report says 0.
      input_tokens_details: {
        cached_tokens: reportedCachedTokens(this.gpu, [this.generation]) ?? 0,
      },
      output_tokens: outputTokens,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: inputTokens + outputTokens,
    };
  }
}

function textPart(text: string): Json {
  return { type: "output_text", text, annotations: [], logprobs: [] };
}
