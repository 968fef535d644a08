// SPDX-License-Identifier: Apache-2.0
// What the mock model says: an answer made up from the prompt, or the one that the request asks for.
import { type Conversation, type ToolCall } from "./conversation.ts";
import { MESSAGE_END, renderCall } from "./chat-template.ts";
import { objectOr, isObject, type Json } from "./json.ts";
import { TokenList, tokenize } from "./tokenizer.ts";

export interface Answer {
  text: string;
  toolCalls: ToolCall[];
}

export type FinishReason = "stop" | "length" | "tool_calls";

/** A piece of an answer as it leaves the model; every wire format writes it in its own way. */
export type Delta =
  | { kind: "text"; text: string }
  | { kind: "call"; index: number; id: string; name: string }
  | { kind: "arguments"; index: number; text: string };

/** An answer token by token. */
export interface AnswerPlan {
  answer: Answer;
  /** Ids of the generated tokens, the end token included unless the answer was cut. */
  tokenIds: Int32Array;
  /** What becomes visible with each token; most tokens of a call's frame show nothing. */
  deltas: (Delta | null)[];
  finishReason: FinishReason;
}

const WORDS =
  "the model reads file tests change value gives error path build check list index table query result update branch cache order state input output match block token count field print merge start step next found fixed added clean ready".split(
    " ",
  );

/** A small generator (mulberry32): one answer follows from one number. */
export function randomFrom(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Text of exactly `tokens` tokens: every word of the list is one token with the space before it. */
export function inventText(tokens: number, random: () => number): string {
  const words: string[] = [];
  for (let i = 0; i < tokens; i++) words.push(WORDS[Math.floor(random() * WORDS.length)] ?? "the");
  return words.length === 0 ? "" : ` ${words.join(" ")}`;
}

/** A call of the tool that the request demands (or of the first), arguments made from its schema. */
export function inventCall(conversation: Conversation, random: () => number): ToolCall | null {
  const wanted = conversation.toolNames.indexOf(conversation.toolChoice);
  const index = wanted < 0 ? 0 : wanted;
  const name = conversation.toolNames[index];
  if (name === undefined) return null;
  const serial = Math.floor(random() * 0xffffffff).toString(16);
  return {
    id: `call_${serial.padStart(8, "0")}`,
    name,
    arguments: JSON.stringify(inventValue(conversation.toolSchemas[index], random, 0)),
  };
}

const MAX_SCHEMA_DEPTH = 8;

function inventValue(schema: unknown, random: () => number, depth: number): unknown {
  if (!isObject(schema) || depth > MAX_SCHEMA_DEPTH) return {};
  const node = schema;
  if (Array.isArray(node["enum"]) && node["enum"].length > 0) return node["enum"][0];
  switch (node["type"]) {
    case "string":
      return inventText(2, random).trim();
    case "number":
    case "integer":
      return Math.floor(random() * 100);
    case "boolean":
      return random() < 0.5;
    case "array":
      return [inventValue(node["items"], random, depth + 1)];
    case "null":
      return null;
    default:
      return inventObject(node, random, depth);
  }
}

function inventObject(schema: Json, random: () => number, depth: number): Json {
  const properties = objectOr(schema["properties"]);
  const required = Array.isArray(schema["required"])
    ? (schema["required"] as string[])
    : Object.keys(properties);
  const value: Json = {};
  for (const key of required) value[key] = inventValue(properties[key], random, depth + 1);
  return value;
}

/** Lays an answer out token by token, cut after `maxTokens` tokens. */
export function planAnswer(answer: Answer, maxTokens: number): AnswerPlan {
  const tokens = new TokenList();
  const deltas: (Delta | null)[] = [];
  layText(answer.text, tokens, deltas);
  answer.toolCalls.forEach((call, index) => layCall(call, index, tokens, deltas));
  if (tokens.length >= maxTokens) return cutPlan(answer, tokens, deltas, maxTokens);
  tokens.push(MESSAGE_END);
  deltas.push(null);
  return {
    answer,
    tokenIds: tokens.view(),
    deltas,
    finishReason: answer.toolCalls.length > 0 ? "tool_calls" : "stop",
  };
}

/** Generated tokens given as ids, for comparisons with a real engine; what they say does not matter. */
export function planTokenIds(tokenIds: Int32Array): AnswerPlan {
  const text = inventText(tokenIds.length, randomFrom(1));
  const deltas: (Delta | null)[] = new Array<null>(tokenIds.length).fill(null);
  deltas[0] = { kind: "text", text };
  return { answer: { text, toolCalls: [] }, tokenIds, deltas, finishReason: "length" };
}

function layText(text: string, tokens: TokenList, deltas: (Delta | null)[]): void {
  const ends: number[] = [];
  tokenize(text, tokens, ends);
  let from = 0;
  for (const end of ends) {
    deltas.push({ kind: "text", text: text.slice(from, end) });
    from = end;
  }
}

function layCall(call: ToolCall, index: number, tokens: TokenList, deltas: (Delta | null)[]): void {
  const ends: number[] = [];
  const before = tokens.length;
  renderCall(call, tokens, ends);
  const frame = tokens.length - before - ends.length - 1;
  for (let i = 0; i < frame - 1; i++) deltas.push(null);
  deltas.push({ kind: "call", index, id: call.id, name: call.name });
  let from = 0;
  for (const end of ends) {
    deltas.push({ kind: "arguments", index, text: call.arguments.slice(from, end) });
    from = end;
  }
  deltas.push(null);
}

function cutPlan(
  answer: Answer,
  tokens: TokenList,
  deltas: (Delta | null)[],
  maxTokens: number,
): AnswerPlan {
  const shown = deltas.slice(0, maxTokens);
  return {
    answer: collect(shown, answer),
    tokenIds: tokens.view().slice(0, maxTokens),
    deltas: shown,
    finishReason: "length",
  };
}

/** The answer that these deltas add up to. */
function collect(deltas: (Delta | null)[], whole: Answer): Answer {
  const answer: Answer = { text: "", toolCalls: [] };
  for (const delta of deltas) {
    if (delta === null) continue;
    if (delta.kind === "text") answer.text += delta.text;
    else if (delta.kind === "call") {
      answer.toolCalls.push({ id: delta.id, name: delta.name, arguments: "" });
    } else {
      const call = answer.toolCalls[delta.index];
      if (call !== undefined) call.arguments += delta.text;
    }
  }
  return whole.toolCalls.length === 0 ? { ...answer, toolCalls: [] } : answer;
}
