// SPDX-License-Identifier: Apache-2.0
// The common way from a rendered prompt to running generations: faults, limits, priority, submission.
import { chainHash } from "../engine/block-hash.ts";
import { type Conversation } from "./conversation.ts";
import { decideAnswer, readControls } from "./controls.ts";
import { type Exchange, HttpError } from "./exchange.ts";
import { type FaultPlan } from "./faults.ts";
import { type Generation } from "./generation.ts";
import { type Gpu } from "./gpu.ts";
import { type Json } from "./json.ts";

export interface StartedAnswers {
  generations: Generation[];
  faults: FaultPlan;
}

/** Starts all choices of a request; null when a fault or the client has ended the exchange before. */
export async function startAnswers(
  gpu: Gpu,
  exchange: Exchange,
  body: Json,
  conversation: Conversation,
  tokens: Int32Array,
): Promise<StartedAnswers | null> {
  const faults = gpu.faults.forRequest(exchange.header("x-mock-fault"));
  if (!(await survive(gpu, exchange, faults))) return null;
  if (tokens.length === 0) throw new HttpError(400, "The prompt is empty.");
  const controls = readControls(exchange, body, gpu.options.toolRounds ?? 0);
  const promptHash = chainHash(1, tokens, 0, tokens.length);
  const prompt = {
    tokens,
    cacheSalt: typeof body["cache_salt"] === "string" ? body["cache_salt"] : undefined,
    adapter: adapterOf(gpu, body["model"]),
    priority: priorityOf(exchange.header("x-vllm-priority"), body["priority"]),
  };
  const generations: Generation[] = [];
  for (let choice = 0; choice < controls.choices; choice++) {
    const plan = decideAnswer(conversation, promptHash, controls, choice);
    generations.push(gpu.generate(prompt, plan, exchange));
  }
  return { generations, faults };
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

/** The header wins over the body; what is not a whole number is ignored, as in vLLM. */
function priorityOf(header: string | undefined, field: unknown): number {
  if (header !== undefined && /^[+-]?\d+$/.test(header.trim())) return Number(header);
  return typeof field === "number" ? Math.trunc(field) : 0;
}

/** A model name of its own is an adapter (LoRA): its prompts share nothing with the base model's. */
function adapterOf(gpu: Gpu, model: unknown): string | undefined {
  return typeof model === "string" && model !== gpu.model ? model : undefined;
}
