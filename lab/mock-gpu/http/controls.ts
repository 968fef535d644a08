// SPDX-License-Identifier: Apache-2.0
// What a request says about its answer: OpenAI's and vLLM's limits, and the mock's own wishes.
import {
  type Answer,
  type AnswerPlan,
  inventCall,
  inventText,
  planAnswer,
  randomFrom,
} from "./answer.ts";
import { type Conversation, type ToolCall } from "./conversation.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type GpuOptions } from "./gpu.ts";
import { isObject, type Json, objectOr, objectsOf, textOr, textOrJson } from "./json.ts";

export interface Controls {
  /** Longest answer; null = no limit. */
  maxTokens: number | null;
  minTokens: number;
  ignoreEos: boolean;
  seed: number;
  /** Answers to generate (`n`). */
  choices: number;
  /** Exact number of generated tokens, `x-mock-output-tokens`. */
  outputTokens: number | null;
  /** Exact answer: `mock_answer` in the body or `x-mock-answer` (base64 of the same JSON). */
  answer: Answer | null;
  /** Exact generated token ids, `mock_output_token_ids` in the body. */
  outputTokenIds: Int32Array | null;
  /** Call tools until this many results stand after the last user message, `x-mock-tool-rounds`. */
  toolRounds: number;
}

/** Reads the limits from the body (whatever the wire format calls them) and the wishes from both. */
export function readControls(exchange: Exchange, body: Json, standard: GpuOptions): Controls {
  return {
    maxTokens:
      positive(body["max_completion_tokens"]) ??
      positive(body["max_output_tokens"]) ??
      positive(body["max_tokens"]),
    minTokens: positive(body["min_tokens"]) ?? 0,
    ignoreEos: body["ignore_eos"] === true,
    seed: (standard.seed ?? 0) + (typeof body["seed"] === "number" ? body["seed"] : 0),
    choices: positive(body["n"]) ?? 1,
    outputTokens: positive(Number(exchange.header("x-mock-output-tokens"))),
    answer: readAnswer(body["mock_answer"] ?? decodeAnswer(exchange.header("x-mock-answer"))),
    outputTokenIds: readTokenIds(body["mock_output_token_ids"]),
    toolRounds: Number(exchange.header("x-mock-tool-rounds") ?? standard.toolRounds) || 0,
  };
}

/** The answer to a prompt: forced, or made up from the prompt alone, equal on every endpoint. */
export function decideAnswer(
  conversation: Conversation,
  promptHash: number,
  controls: Controls,
  choice: number,
): AnswerPlan {
  const random = randomFrom(promptHash ^ Math.imul(controls.seed + choice, 0x9e3779b1));
  const cap = controls.maxTokens ?? Infinity;
  if (controls.answer !== null) return planAnswer(controls.answer, cap);
  if (controls.outputTokens !== null) return exactLength(controls.outputTokens, random);
  if (controls.ignoreEos && controls.maxTokens !== null) {
    return planAnswer({ text: inventText(controls.maxTokens, random), toolCalls: [] }, cap);
  }
  const call = wantsCall(conversation, controls) ? inventCall(conversation, random) : null;
  if (call !== null) return planAnswer({ text: "", toolCalls: [call] }, cap);
  const length = Math.max(controls.minTokens, naturalLength(random));
  return planAnswer({ text: inventText(length - 1, random), toolCalls: [] }, cap);
}

/** The length that a request is known to have before its answer is made. */
function exactLength(tokens: number, random: () => number): AnswerPlan {
  return planAnswer({ text: inventText(tokens - 1, random), toolCalls: [] }, Infinity);
}

const SHORTEST_ANSWER = 8;
const LONGEST_ANSWER = 160;

function naturalLength(random: () => number): number {
  // Squared, so that short answers are more frequent than long ones.
  return SHORTEST_ANSWER + Math.floor(random() ** 2 * (LONGEST_ANSWER - SHORTEST_ANSWER));
}

function wantsCall(conversation: Conversation, controls: Controls): boolean {
  if (conversation.toolNames.length === 0 || conversation.toolChoice === "none") return false;
  const forced = conversation.toolChoice !== "auto";
  return forced || resultsSinceUser(conversation) < controls.toolRounds;
}

function resultsSinceUser(conversation: Conversation): number {
  let results = 0;
  for (const message of conversation.messages) {
    if (message.role === "user") results = 0;
    else if (message.role === "tool") results++;
  }
  return results;
}

function positive(value: unknown): number | null {
  return typeof value === "number" && Number.isFinite(value) && value >= 1
    ? Math.floor(value)
    : null;
}

/** Token ids of a JSON list, or null where there is no such list. */
export function readTokenIds(value: unknown): Int32Array | null {
  if (!Array.isArray(value) || value.length === 0) return null;
  return value.every((id) => typeof id === "number") ? Int32Array.from(value) : null;
}

function decodeAnswer(header: string | undefined): unknown {
  if (header === undefined) return undefined;
  try {
    return JSON.parse(Buffer.from(header, "base64").toString("utf8"));
  } catch {
    throw new HttpError(400, "x-mock-answer must be base64 of a JSON value.");
  }
}

/** A string, or `{content, tool_calls}` with calls as OpenAI writes them or as `{name, arguments}`. */
function readAnswer(value: unknown): Answer | null {
  if (value === undefined || value === null) return null;
  if (typeof value === "string") return { text: value, toolCalls: [] };
  if (!isObject(value)) throw new HttpError(400, "mock_answer must be text or an object.");
  return {
    text: textOr(value["content"]),
    toolCalls: objectsOf(value["tool_calls"]).map(readCall),
  };
}

function readCall(call: Json, at: number): ToolCall {
  const inner = objectOr(call["function"] ?? call);
  return {
    id: textOr(call["id"], `call_${at}`),
    name: textOr(inner["name"]),
    arguments: textOrJson(inner["arguments"]),
  };
}
