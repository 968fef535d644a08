// SPDX-License-Identifier: Apache-2.0
// The agent-shaped chat body in the words of the other dialects.
import { agentBody } from "./agent-body.ts";

interface ChatCall {
  id: string;
  function: { name: string; arguments: string };
}

interface ChatMessage {
  role: string;
  content: string | null;
  tool_call_id?: string;
  tool_calls?: ChatCall[];
}

interface ChatBody {
  model: string;
  messages: ChatMessage[];
  tools: { function: { name: string; description: string; parameters: object } }[];
}

function chatBody(bytes: number): ChatBody {
  return JSON.parse(Buffer.from(agentBody(bytes)).toString()) as ChatBody;
}

function encode(body: object): Uint8Array {
  return Buffer.from(JSON.stringify(body));
}

function toMessage({ role, content, tool_call_id, tool_calls }: ChatMessage): object {
  if (tool_calls !== undefined) {
    const calls = tool_calls.map(({ id, function: { name, arguments: input } }) => ({
      ...{ type: "tool_use", id, name },
      input: JSON.parse(input) as object,
    }));
    return { role, content: calls };
  }
  if (tool_call_id === undefined) return { role, content };
  return { role: "user", content: [{ type: "tool_result", tool_use_id: tool_call_id, content }] };
}

/** Anthropic Messages: system text beside the messages, calls and results as content blocks. */
export function messagesBody(bytes: number): Uint8Array {
  const { model, messages, tools } = chatBody(bytes);
  return encode({
    model,
    max_tokens: 4096,
    system: messages[0]?.content,
    messages: messages.slice(1).map(toMessage),
    tools: tools.map(({ function: { name, description, parameters } }) => ({
      ...{ name, description, input_schema: parameters },
    })),
  });
}

function toItems({ role, content, tool_call_id, tool_calls }: ChatMessage): object[] {
  if (tool_calls !== undefined) {
    return tool_calls.map(({ id, function: { name, arguments: text } }) => ({
      ...{ type: "function_call", call_id: id, name, arguments: text },
    }));
  }
  if (tool_call_id === undefined) return [{ role, content }];
  return [{ type: "function_call_output", call_id: tool_call_id, output: content }];
}

/** OpenAI Responses: one list of items, calls and outputs among them. */
export function responsesBody(bytes: number): Uint8Array {
  const { model, messages, tools } = chatBody(bytes);
  return encode({
    model,
    instructions: messages[0]?.content,
    input: messages.slice(1).flatMap(toItems),
    tools: tools.map(({ function: definition }) => ({ type: "function", ...definition })),
  });
}
