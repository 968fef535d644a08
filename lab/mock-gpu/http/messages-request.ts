// SPDX-License-Identifier: Apache-2.0
// Anthropic Messages bodies, read into the conversation that the template renders.
import { type Conversation, type Message, newConversation } from "./conversation.ts";
import { HttpError } from "./exchange.ts";
import { isObject, type Json, objectsOf, textOr, textOrJson } from "./json.ts";
import { textOfParts } from "./parts.ts";
import { readTools, readToolChoice } from "./tools.ts";

/** @throws HttpError when there are no messages. */
export function readMessages(body: Json): Conversation {
  if (!Array.isArray(body["messages"])) throw new HttpError(400, "messages: Field required");
  const conversation = newConversation();
  const system = textOfParts(body["system"]);
  if (system !== "") conversation.messages.push({ role: "system", text: system, toolCalls: [] });
  for (const message of objectsOf(body["messages"])) {
    if (message["role"] === "assistant") conversation.messages.push(readAssistant(message));
    else readUser(message, conversation.messages);
  }
  readTools(body["tools"], conversation);
  conversation.toolChoice = readToolChoice(body["tool_choice"]);
  return conversation;
}

function readAssistant(message: Json): Message {
  if (typeof message["content"] === "string") {
    return { role: "assistant", text: message["content"], toolCalls: [] };
  }
  const blocks = objectsOf(message["content"]);
  const text = blocks.filter(({ type }) => type === "text").map(({ text: piece }) => textOr(piece));
  return {
    role: "assistant",
    text: text.join("\n"),
    toolCalls: blocks
      .filter(({ type }) => type === "tool_use" || type === "server_tool_use")
      .map((block) => ({
        id: textOr(block["id"]),
        name: textOr(block["name"]),
        arguments: textOrJson(block["input"]),
      })),
  };
}

/** Tool results come inside user messages; the template gives each a message of its own. */
function readUser(message: Json, messages: Message[]): void {
  const role = message["role"] === "system" ? "system" : "user";
  const content = message["content"];
  if (!Array.isArray(content)) {
    messages.push({ role, text: textOfParts(content), toolCalls: [] });
    return;
  }
  const others: unknown[] = [];
  for (const block of content as unknown[]) {
    if (isObject(block) && block["type"] === "tool_result") {
      messages.push({ role: "tool", text: textOfParts(block["content"]), toolCalls: [] });
    } else {
      others.push(block);
    }
  }
  if (others.length > 0) messages.push({ role, text: textOfParts(others), toolCalls: [] });
}
