// SPDX-License-Identifier: Apache-2.0
// Chat completion bodies, read into the conversation that the template renders.
import { type Conversation, type Message, newConversation, type ToolCall } from "./conversation.ts";
import { HttpError } from "./exchange.ts";
import { isObject, type Json, objectOr, objectsOf, textOr, textOrJson } from "./json.ts";
import { textOfParts } from "./parts.ts";
import { readTools, readToolChoice } from "./tools.ts";

/** Reads messages, tools and tool choice. @throws HttpError when there are no messages. */
export function readChat(body: Json): Conversation {
  const messages = body["messages"];
  if (!Array.isArray(messages)) throw new HttpError(400, "Field required: messages");
  const conversation = newConversation();
  for (const message of messages) conversation.messages.push(readMessage(message));
  const legacy = objectsOf(body["functions"]).map((definition) => ({
    type: "function",
    function: definition,
  }));
  readTools(body["tools"] ?? legacy, conversation);
  conversation.toolChoice = readToolChoice(body["tool_choice"]);
  conversation.generationPrompt =
    body["add_generation_prompt"] !== false && body["continue_final_message"] !== true;
  return conversation;
}

function readMessage(message: unknown): Message {
  if (!isObject(message)) throw new HttpError(400, "Input should be a valid dictionary: messages");
  return {
    role: messageRole(message["role"]),
    text: textOfParts(message["content"]),
    toolCalls: readCalls(message),
  };
}

function messageRole(role: unknown): Message["role"] {
  if (role === "system" || role === "developer") return "system";
  if (role === "assistant") return "assistant";
  return role === "tool" || role === "function" ? "tool" : "user";
}

function readCalls(message: Json): ToolCall[] {
  const calls = objectsOf(message["tool_calls"]);
  const legacy = message["function_call"];
  return (isObject(legacy) ? [legacy, ...calls] : calls).map((call) => {
    const inner = objectOr(call["function"] ?? call["custom"] ?? call);
    return {
      id: textOr(call["id"]),
      name: textOr(inner["name"]),
      arguments: textOrJson(inner["arguments"] ?? inner["input"] ?? ""),
    };
  });
}
