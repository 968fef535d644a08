// SPDX-License-Identifier: Apache-2.0
// One request inside an engine: what was asked for, how far it is, and what it has cost so far.
import { blockHashes, hashSeed } from "./block-hash.ts";

/** A prompt as token ids. Salt and adapter (LoRA) separate prefix caches, as in vLLM. */
export interface TokenPrompt {
  tokens: ArrayLike<number>;
  cacheSalt?: string;
  adapter?: string;
}

/**
 * A prompt as ready-made chained block hashes (whole numbers from 1 to 2^53 - 1) of prompt *and*
 * output, in the engine's block size; blocks beyond the list cannot be hit later.
 */
export interface BlockPrompt {
  blockHashes: Float64Array;
  promptTokens: number;
}

/** What can be read of a request while it is served and after. Times are engine milliseconds, NaN before. */
export interface ServedRequest {
  readonly id: string;
  readonly promptTokens: number;
  readonly generated: number;
  readonly arrivalMs: number;
  readonly firstScheduledMs: number;
  readonly firstTokenMs: number;
  readonly endMs: number;
  readonly endReason: EndReason | null;
  readonly cachedTokens: number;
  readonly localTokens: number;
  readonly fetchedTokens: number;
  readonly computedTokens: number;
  readonly recomputedTokens: number;
  readonly preemptions: number;
  /** Time spent on fetching KV from a tier before the first step. */
  readonly fetchMs: number;
}

/** Where an engine reports progress. All times are the engine's own milliseconds. */
export interface RequestSink {
  /** `count` more tokens; the first call is the first token. */
  tokens?(request: ServedRequest, count: number, nowMs: number): void;
  /** Exactly once per request. */
  end?(request: ServedRequest, nowMs: number): void;
}

/** KV of the whole prompt, computed by another engine and pulled over a link. */
export interface PromptTransfer {
  tokens: number;
  /** Reserves the link for `tokens` tokens; answers when the last one has arrived. */
  pull(tokens: number, nowMs: number): number;
  /** The other engine may free its blocks. */
  release(nowMs: number): void;
}

export interface RequestInit {
  id?: string;
  prompt: TokenPrompt | BlockPrompt;
  /** Exact number of tokens to generate, at least 1. */
  outputTokens: number;
  /** Ids of the generated tokens; without them the blocks that hold output are never hit again. */
  outputTokenIds?: ArrayLike<number>;
  priority?: number;
  sink?: RequestSink;
  /** The answer ends in a tool call: its session waits and comes back. */
  endsInWait?: boolean;
  /** Prefill was done elsewhere. */
  transfer?: PromptTransfer;
  /** Keep the blocks after the end until `Engine.releaseHeld` (the prefill half of a transfer). */
  holdBlocks?: boolean;
}

export type RequestState = "waiting" | "fetching" | "running" | "finished";
export type EndReason = "done" | "aborted";

/** A request as the engine sees it. Read it freely; only the engine writes. */
export class EngineRequest implements ServedRequest {
  readonly id: string;
  readonly promptTokens: number;
  readonly outputTokens: number;
  readonly sink: RequestSink;
  readonly endsInWait: boolean;
  readonly holdBlocks: boolean;
  /** Chained hashes of prompt and output. */
  readonly hashes: Float64Array;
  readonly blocks: Int32Array;
  /** Set while the prompt's KV lies on another engine. */
  transfer: PromptTransfer | null;

  state: RequestState = "waiting";
  endReason: EndReason | null = null;
  /** Tokens whose KV is here, those of the step under way included. */
  computed = 0;
  generated = 0;
  /** Tokens in the step under way. */
  scheduled = 0;
  blockCount = 0;
  /** Leading blocks that are findable by hash. */
  registered = 0;
  /** Leading blocks that were offered to the tiers. */
  stored = 0;
  /** Furthest token ever computed, hit or fetched here: work below it is repeated work. */
  highWater = 0;
  fetchDoneMs = 0;

  firstScheduledMs = NaN;
  firstTokenMs = NaN;
  endMs = NaN;
  /** Prompt tokens found in the prefix cache or fetched at the first admission; -1 before. */
  cachedTokens = -1;
  /** Each token up to the end is counted once: hit here, fetched, or computed. */
  localTokens = 0;
  fetchedTokens = 0;
  computedTokens = 0;
  /** Work done again after a preemption. */
  recomputedTokens = 0;
  preemptions = 0;
  fetchMs = 0;

  constructor(
    init: RequestInit,
    blockTokens: number,
    readonly arrivalMs: number,
    /** Order of arrival at this engine. */
    readonly order: number,
    /** Lower goes first. */
    readonly priority: number,
  ) {
    this.id = init.id ?? `request-${order}`;
    this.outputTokens = Math.max(1, init.outputTokens);
    this.sink = init.sink ?? {};
    this.endsInWait = init.endsInWait ?? false;
    this.holdBlocks = init.holdBlocks ?? false;
    this.transfer = init.transfer ?? null;
    this.promptTokens = promptLength(init.prompt);
    this.hashes = requestHashes(init, blockTokens, this.outputTokens);
    this.blocks = new Int32Array(Math.ceil((this.promptTokens + this.outputTokens) / blockTokens));
  }

  /** Prompt and generated tokens: the length that has to be computed before the next token. */
  get length(): number {
    return this.promptTokens + this.generated;
  }

  get ended(): boolean {
    return this.state === "finished";
  }
}

/** Tokens of a prompt of either form. */
export function promptLength(prompt: TokenPrompt | BlockPrompt): number {
  return "tokens" in prompt ? prompt.tokens.length : prompt.promptTokens;
}

function requestHashes(init: RequestInit, blockTokens: number, outputTokens: number): Float64Array {
  const prompt = init.prompt;
  if (!("tokens" in prompt)) return prompt.blockHashes;
  const seed = hashSeed(prompt.cacheSalt, prompt.adapter);
  const output = init.outputTokenIds;
  if (output === undefined) {
    return blockHashes(prompt.tokens, prompt.tokens.length, blockTokens, seed);
  }
  const length = prompt.tokens.length + Math.min(output.length, outputTokens);
  const all = new Int32Array(length);
  for (let i = 0; i < prompt.tokens.length; i++) all[i] = prompt.tokens[i] as number;
  for (let i = prompt.tokens.length; i < length; i++) {
    all[i] = output[i - prompt.tokens.length] as number;
  }
  return blockHashes(all, length, blockTokens, seed);
}
