// SPDX-License-Identifier: Apache-2.0
// One streamed chat completion over HTTP, timed as its client sees it.
import { createParser } from "eventsource-parser";
import { type Dispatcher, request } from "undici";

interface Usage {
  prompt_tokens?: number;
  completion_tokens?: number;
  prompt_tokens_details?: { cached_tokens?: number } | null;
}

interface Chunk {
  choices?: { delta?: { content?: string | null; tool_calls?: unknown[] } }[];
  usage?: Usage | null;
  error?: { message?: string };
}

export interface ChatAnswer {
  firstTokenMs: number;
  endedMs: number;
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
  /** The endpoint as it names itself, null when none answered. */
  endpoint: string | null;
  /** Why it failed, null when it did not. */
  error: string | null;
}

/** Reads the events of one answer: first token, usage, error. */
class AnswerReader {
  firstTokenMs: number | null = null;
  usage: Usage = {};
  error: string | null = null;
  private readonly parser = createParser({ onEvent: (event) => this.take(event.data) });
  private readonly text = new TextDecoder();

  constructor(private readonly nowMs: () => number) {}

  feed(bytes: Uint8Array): void {
    this.parser.feed(this.text.decode(bytes, { stream: true }));
  }

  private take(data: string): void {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data) as Chunk;
    if (chunk.error) this.error = chunk.error.message ?? "error";
    if (chunk.usage) this.usage = chunk.usage;
    const delta = chunk.choices?.[0]?.delta;
    if (this.firstTokenMs === null && (delta?.content || delta?.tool_calls)) {
      this.firstTokenMs = this.nowMs();
    }
  }
}

/**
 * Posts a chat body and reads the stream to its end. Never throws for what the server does: the answer says it.
 * @param nowMs the clock that the times are taken from
 */
export async function chat(
  dispatcher: Dispatcher,
  url: string,
  body: string,
  headers: Record<string, string>,
  nowMs: () => number,
): Promise<ChatAnswer> {
  const reader = new AnswerReader(nowMs);
  let error: string | null = null;
  let endpoint: string | null = null;
  try {
    const response = await request(`${url}/v1/chat/completions`, {
      dispatcher,
      method: "POST",
      headers: { "content-type": "application/json", ...headers },
      body,
    });
    endpoint = response.headers["x-mock-endpoint"]?.toString() ?? null;
    if (response.statusCode === 200) {
      for await (const bytes of response.body) reader.feed(bytes as Uint8Array);
    } else {
      const text = await response.body.text();
      error = `status ${response.statusCode}: ${text.slice(0, 200)}`;
    }
  } catch (fault) {
    error = fault instanceof Error ? fault.message : String(fault);
  }
  const endedMs = nowMs();
  return {
    firstTokenMs: reader.firstTokenMs ?? endedMs,
    endedMs,
    promptTokens: reader.usage.prompt_tokens ?? 0,
    cachedTokens: reader.usage.prompt_tokens_details?.cached_tokens ?? 0,
    outputTokens: reader.usage.completion_tokens ?? 0,
    endpoint,
    error: error ?? reader.error ?? (reader.usage.prompt_tokens === undefined ? "no usage" : null),
  };
}
