// SPDX-License-Identifier: Apache-2.0
// A conversation held by Anthropic's own client, with cache markers that move on from call to call.
import Anthropic from "@anthropic-ai/sdk";
import type { Script } from "./script.ts";

/** The messages that may hold any kind of block. */
type UserOrAssistant = Exclude<Anthropic.MessageParam, { role: "system" }>;

const MARKER = { cache_control: { type: "ephemeral" as const } };

export async function talkInMessages(url: string, script: Script): Promise<number[]> {
  const client = new Anthropic({ baseURL: url, apiKey: "none", maxRetries: 0 });
  const { name, description, parameters } = script.tool;
  const messages: UserOrAssistant[] = [];
  const ask = (stream: boolean): Promise<Anthropic.Message> => {
    const request = {
      model: script.model,
      max_tokens: script.maxTokens,
      system: [{ type: "text" as const, text: script.system, ...MARKER }],
      messages: markLast(messages),
      tools: [{ name, description, input_schema: parameters }],
    };
    return stream
      ? client.messages.stream(request).finalMessage()
      : client.messages.create(request);
  };
  const calls: number[] = [];
  for (const [index, content] of script.questions.entries()) {
    messages.push({ role: "user", content });
    do {
      const message = await ask(index > 0);
      messages.push({ role: "assistant", content: message.content });
      const results = message.content
        .filter((block) => block.type === "tool_use")
        .map(({ id }) => ({
          type: "tool_result" as const,
          tool_use_id: id,
          content: script.toolResult,
        }));
      if (results.length > 0) messages.push({ role: "user", content: results });
      calls.push(results.length);
    } while (calls.at(-1) !== 0);
  }
  return calls;
}

/** Agents mark the end of what is to be cached; a marker turns text into a list with one part. */
function markLast(messages: UserOrAssistant[]): Anthropic.MessageParam[] {
  const last = messages.at(-1);
  if (last === undefined) return messages;
  const content: Anthropic.ContentBlockParam[] =
    typeof last.content === "string" ? [{ type: "text", text: last.content }] : last.content;
  const marked = content.map((block, index) =>
    index === content.length - 1 && (block.type === "text" || block.type === "tool_result")
      ? { ...block, ...MARKER }
      : block,
  );
  return [...messages.slice(0, -1), { role: last.role, content: marked }];
}
