// SPDX-License-Identifier: Apache-2.0
// OpenAI Responses bodies, read into the conversation that the template renders.
import { type Conversation, type Message, newConversation } from "./conversation.ts";
import { HttpError } from "./exchange.ts";
import { isObject, type Json, textOr, textOrJson } from "./json.ts";
import { textOfParts } from "./parts.ts";
import { readTools, readToolChoice } from "./tools.ts";

/** The `input` of a request as a list of items. */
export function inputItems(body: Json): unknown[] {
  const input = body["input"];
  if (typeof input === "string") return [{ role: "user", content: input }];
  if (!Array.isArray(input)) throw new HttpError(400, "Field required: input");
  return input as unknown[];
}

/** `items`: the stored history and the new input. Instructions are not carried over, as in OpenAI. */
export function readResponses(body: Json, items: unknown[]): Conversation {
  const conversation = newConversation();
  const instructions = textOr(body["instructions"]);
  if (instructions !== "") {
    conversation.messages.push({ role: "system", text: instructions, toolCalls: [] });
  }
  for (const item of items) if (isObject(item)) readItem(item, conversation.messages);
  readTools(body["tools"], conversation);
  conversation.toolChoice = readToolChoice(body["tool_choice"]);
  return conversation;
}

function readItem(item: Json, messages: Message[]): void {
  const type = textOr(item["type"], "role" in item ? "message" : "item_reference");
  if (type === "message") {
    readMessage(item, messages);
  } else if (type === "function_call" || type === "custom_tool_call") {
    assistantMessage(messages).toolCalls.push({
      id: textOr(item["call_id"]),
      name: textOr(item["name"]),
      arguments: textOrJson(item["arguments"] ?? item["input"]),
    });
  } else if (type.endsWith("_output")) {
    messages.push({ role: "tool", text: textOfParts(item["output"]), toolCalls: [] });
  } else if (type.endsWith("_call")) {
    // A hosted tool's call: the model wrote it, in words of its own.
    assistantMessage(messages).text += JSON.stringify({ ...item, id: undefined });
  }
  // Reasoning, references and compaction markers are not rendered.
}

function readMessage(item: Json, messages: Message[]): void {
  const role = item["role"];
  const text = textOfParts(item["content"]);
  if (role === "assistant") assistantMessage(messages).text += text;
  else if (role === "system" || role === "developer") {
    messages.push({ role: "system", text, toolCalls: [] });
  } else messages.push({ role: "user", text, toolCalls: [] });
}

/** Items of the model in a row are one message of the template: text first, then calls. */
function assistantMessage(messages: Message[]): Message {
  const last = messages[messages.length - 1];
  if (last?.role === "assistant") return last;
  const message: Message = { role: "assistant", text: "", toolCalls: [] };
  messages.push(message);
  return message;
}
