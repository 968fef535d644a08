// SPDX-License-Identifier: Apache-2.0
// A conversation as the chat template sees it: every wire format is read into this form.

export interface ToolCall {
  id: string;
  name: string;
  /** JSON text, exactly as it stands in the prompt. */
  arguments: string;
}

/** One message. Media stands in `text` as a marker that `mediaMarker` made. */
export interface Message {
  role: "system" | "user" | "assistant" | "tool";
  text: string;
  toolCalls: ToolCall[];
}

export interface Conversation {
  messages: Message[];
  /** Tool definitions as JSON text, in the order of the request. */
  tools: string[];
  toolNames: string[];
  /** JSON schemas of the tools' parameters, beside `toolNames`. */
  toolSchemas: unknown[];
  /** "none", "auto", "required", or the name of the one tool to call. */
  toolChoice: string;
  /** Whether the prompt ends with the header of the answer. */
  generationPrompt: boolean;
}

export function newConversation(): Conversation {
  return {
    messages: [],
    tools: [],
    toolNames: [],
    toolSchemas: [],
    toolChoice: "auto",
    generationPrompt: true,
  };
}
