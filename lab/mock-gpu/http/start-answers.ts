// SPDX-License-Identifier: Apache-2.0
// The common way from a rendered prompt to running generations: faults, limits, priority, submission.
import { chainHash } from "../engine/block-hash.ts";
import { type AnswerPlan, planTokenIds } from "./answer.ts";
import { type Controls, decideAnswer, readControls } from "./controls.ts";
import { type Conversation } from "./conversation.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type FaultPlan } from "./faults.ts";
import { type Generation } from "./generation.ts";
import { type Gpu } from "./gpu.ts";
import { type Json } from "./json.ts";

export interface StartedAnswers {
  /** For each prompt all its choices. */
  generations: Generation[];
  faults: FaultPlan;
}

export interface AnswerRequest {
  body: Json;
  conversation: Conversation;
  /** Rendered prompts; only completions bring more than one. */
  prompts: Int32Array[];
  /** Call arguments come back as objects: they are generated as compact JSON. */
  compactArguments?: boolean;
}

/** Starts all choices of a request; null when a fault or the client has ended the exchange before. */
export async function startAnswers(
  gpu: Gpu,
  exchange: Exchange,
  request: AnswerRequest,
): Promise<StartedAnswers | null> {
  const { body, prompts } = request;
  const faults = gpu.faults.forRequest(exchange.header("x-mock-fault"));
  if (!(await survive(gpu, exchange, faults))) return null;
  if (prompts.some(({ length }) => length === 0)) throw new HttpError(400, "The prompt is empty.");
  const controls = readControls(exchange, body, gpu.options);
  if (request.compactArguments === true) compactCalls(controls);
  const shared = {
    cacheSalt: typeof body["cache_salt"] === "string" ? body["cache_salt"] : undefined,
    adapter: adapterOf(gpu, body["model"]),
    priority: gpu.priorityOf(exchange, body["priority"]),
  };
  const generations: Generation[] = [];
  for (const tokens of prompts) {
    const room = Math.max(1, gpu.engine.options.maxModelTokens - tokens.length);
    const limited = { ...controls, maxTokens: Math.min(controls.maxTokens ?? room, room) };
    for (const plan of plansFor(tokens, request.conversation, limited)) {
      generations.push(gpu.generate({ tokens, ...shared }, plan, exchange));
    }
  }
  return { generations, faults };
}

function plansFor(
  tokens: Int32Array,
  conversation: Conversation,
  controls: Controls,
): AnswerPlan[] {
  if (controls.outputTokenIds !== null) return [planTokenIds(controls.outputTokenIds)];
  const promptHash = chainHash(1, tokens, 0, tokens.length);
  return Array.from({ length: controls.choices }, (_, choice) =>
    decideAnswer(conversation, promptHash, controls, choice),
  );
}

/** False when the request ends here. */
async function survive(gpu: Gpu, exchange: Exchange, faults: FaultPlan): Promise<boolean> {
  if (faults.die === true) {
    gpu.onDie();
    return false;
  }
  if (typeof faults.stall_ms === "number") await waitWall(faults.stall_ms);
  if (exchange.ended) return false;
  if (typeof faults.status === "number") {
    const type = faults.status === 429 ? "TooManyRequests" : "ServiceUnavailable";
    throw new HttpError(faults.status, "The mock GPU was told to refuse.", type);
  }
  if (!gpu.ready) throw new HttpError(503, "The engine is starting.", "ServiceUnavailable");
  return true;
}

function waitWall(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function compactCalls(controls: Controls): void {
  for (const call of controls.answer?.toolCalls ?? []) {
    try {
      call.arguments = JSON.stringify(JSON.parse(call.arguments));
    } catch {
      throw new HttpError(400, "mock_answer: the arguments of a tool call must be JSON.");
    }
  }
}

/** A model name of its own is an adapter (LoRA): its prompts share nothing with the base model's. */
function adapterOf(gpu: Gpu, model: unknown): string | undefined {
  return typeof model === "string" && model !== gpu.model ? model : undefined;
}
