// SPDX-License-Identifier: Apache-2.0
// Tool definitions and tool choice, in the shapes of all wire formats.
import { type Conversation } from "./conversation.ts";
import { isObject, objectOr, objectsOf, textOr } from "./json.ts";

/** Adds tools as they stand in the request: their JSON text is part of the prompt. */
export function readTools(tools: unknown, conversation: Conversation): void {
  for (const tool of objectsOf(tools)) {
    conversation.tools.push(JSON.stringify({ ...tool, cache_control: undefined }));
    const inner = objectOr(tool["function"] ?? tool["custom"] ?? tool);
    if (typeof inner["name"] !== "string") continue; // A hosted tool has no name and is never called.
    conversation.toolNames.push(inner["name"]);
    conversation.toolSchemas.push(inner["parameters"] ?? inner["input_schema"]);
  }
}

/** "none", "auto", "required" or the name of a tool. */
export function readToolChoice(choice: unknown): string {
  if (choice === "any") return "required";
  if (!isObject(choice)) return textOr(choice, "auto");
  const inner = objectOr(choice["function"] ?? choice);
  if (typeof inner["name"] === "string") return inner["name"];
  return choice["type"] === "any" ? "required" : textOr(choice["type"], "auto");
}
