// SPDX-License-Identifier: Apache-2.0
// Chat completion bodies, read into the conversation that the template renders.
import { type Conversation, type Message, newConversation, type ToolCall } from "./conversation.ts";
import { HttpError } from "./exchange.ts";
import { textOfParts } from "./parts.ts";

type Json = Record<string, unknown>;

/** Reads messages, tools and tool choice. @throws HttpError when there are no messages. */
export function readChat(body: Json): Conversation {
  const messages = body["messages"];
  if (!Array.isArray(messages)) throw new HttpError(400, "Field required: messages");
  const conversation = newConversation();
  for (const message of messages) conversation.messages.push(readMessage(message as Json));
  readTools(body["tools"] ?? legacyTools(body["functions"]), conversation);
  conversation.toolChoice = readChoice(body["tool_choice"]);
  conversation.generationPrompt =
    body["add_generation_prompt"] !== false && body["continue_final_message"] !== true;
  return conversation;
}

function readMessage(message: Json): Message {
  if (typeof message !== "object" || message === null) {
    throw new HttpError(400, "Input should be a valid dictionary: messages");
  }
  const role = message["role"];
  return {
    role: messageRole(role),
    text: textOfParts(message["content"]),
    toolCalls: readCalls(message),
    toolCallId: typeof message["tool_call_id"] === "string" ? message["tool_call_id"] : undefined,
  };
}

function messageRole(role: unknown): Message["role"] {
  if (role === "system" || role === "developer") return "system";
  if (role === "assistant") return "assistant";
  return role === "tool" || role === "function" ? "tool" : "user";
}

function readCalls(message: Json): ToolCall[] {
  const calls = Array.isArray(message["tool_calls"]) ? (message["tool_calls"] as Json[]) : [];
  const legacy = message["function_call"];
  const all = typeof legacy === "object" && legacy !== null ? [legacy as Json, ...calls] : calls;
  return all.map((call) => {
    const inner = (call["function"] ?? call["custom"] ?? call) as Json;
    const given = inner["arguments"] ?? inner["input"] ?? "";
    return {
      id: String(call["id"] ?? ""),
      name: String(inner["name"] ?? ""),
      arguments: typeof given === "string" ? given : JSON.stringify(given),
    };
  });
}

/** Tools as chat completions write them; other formats bring theirs into this shape or a flat one. */
export function readTools(tools: unknown, conversation: Conversation): void {
  if (!Array.isArray(tools)) return;
  for (const tool of tools as Json[]) {
    conversation.tools.push(JSON.stringify(tool));
    const inner = (tool["function"] ?? tool["custom"] ?? tool) as Json;
    if (typeof inner["name"] !== "string") continue; // A hosted tool has no name and is never called.
    conversation.toolNames.push(inner["name"]);
    conversation.toolSchemas.push(inner["parameters"] ?? inner["input_schema"]);
  }
}

/** "none", "auto", "required" or the name of a tool, from any of the formats. */
export function readChoice(choice: unknown): string {
  if (typeof choice === "string") return choice === "any" ? "required" : choice;
  if (typeof choice !== "object" || choice === null) return "auto";
  const node = choice as Json;
  const inner = (node["function"] ?? node) as Json;
  if (typeof inner["name"] === "string") return inner["name"];
  return node["type"] === "any" ? "required" : String(node["type"] ?? "auto");
}

function legacyTools(functions: unknown): unknown {
  if (!Array.isArray(functions)) return undefined;
  return functions.map((definition: unknown) => ({ type: "function", function: definition }));
}
