// SPDX-License-Identifier: Apache-2.0
// The mock model's chat template (ChatML with tools in the system block), rendered straight to tokens.
import { type Conversation, type Message, type ToolCall } from "./conversation.ts";
import { TokenList, tokenize } from "./tokenizer.ts";

/*
 * Special tokens are ids of their own, never text: a message that quotes `<|im_end|>` ends nothing.
 * Text between them is tokenized piece by piece, so an answer has the same tokens when the model
 * writes it and when the client sends it back.
 */
const MESSAGE_START = 1;
export const MESSAGE_END = 2;
const TOOLS_START = 3;
const TOOLS_END = 4;
const CALL_START = 5;
const CALL_END = 6;
const RESULT_START = 7;
const RESULT_END = 8;
const ASSISTANT_HEADER = "assistant\n";

/** Tokens of the whole prompt. */
export function renderPrompt(conversation: Conversation): Int32Array {
  const tokens = new TokenList();
  const [first, ...rest] = conversation.messages;
  const systemFirst = first?.role === "system";
  if (systemFirst || conversation.tools.length > 0) {
    renderHead(systemFirst ? first.text : "", conversation.tools, tokens);
  }
  for (const message of systemFirst ? rest : conversation.messages) renderMessage(message, tokens);
  if (conversation.generationPrompt) {
    tokens.push(MESSAGE_START);
    tokenize(ASSISTANT_HEADER, tokens);
  }
  return tokens.view();
}

/** Tokens of one tool call; `ends` receives the piece ends of its arguments. */
export function renderCall(call: ToolCall, tokens: TokenList, ends?: number[]): void {
  tokens.push(CALL_START);
  tokenize(`${call.name}\n`, tokens);
  tokenize(call.arguments, tokens, ends);
  tokens.push(CALL_END);
}

function renderHead(system: string, tools: string[], tokens: TokenList): void {
  tokens.push(MESSAGE_START);
  tokenize("system\n", tokens);
  tokenize(system, tokens);
  if (tools.length > 0) {
    tokens.push(TOOLS_START);
    for (const tool of tools) tokenize(`${tool}\n`, tokens);
    tokens.push(TOOLS_END);
  }
  endMessage(tokens);
}

function renderMessage(message: Message, tokens: TokenList): void {
  tokens.push(MESSAGE_START);
  if (message.role === "tool") {
    tokenize("user\n", tokens);
    tokens.push(RESULT_START);
    tokenize(message.text, tokens);
    tokens.push(RESULT_END);
  } else {
    tokenize(`${message.role}\n`, tokens);
    tokenize(message.text, tokens);
    for (const call of message.toolCalls) renderCall(call, tokens);
  }
  endMessage(tokens);
}

function endMessage(tokens: TokenList): void {
  tokens.push(MESSAGE_END);
  tokenize("\n", tokens);
}
