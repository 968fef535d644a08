// SPDX-License-Identifier: Apache-2.0
// What an engine is made of: its costs, its memory and its scheduling rules, with vLLM's defaults.
import { type KvTier } from "./kv-tier.ts";
import { type Preset, type PresetName, PRESETS, type StepCost } from "./step-cost.ts";

/** First come first served, or by the request's priority (vLLM's `--scheduling-policy`). */
export type SchedulingOrder = "fcfs" | "priority";

/** Every field has a default; `preset` supplies those that depend on the GPU. */
export interface EngineOptions {
  preset?: PresetName;
  cost?: StepCost;
  kvTokens?: number;
  kvBytesPerToken?: number;
  /** Tokens per KV block; 16 in vLLM on GPUs, 128 on CPUs. Larger blocks make long replays faster. */
  blockTokens?: number;
  maxBatchedTokens?: number;
  maxSequences?: number;
  /** Longest chunk of one prompt in a step; 0 = only the token budget limits it. */
  longPrefillTokens?: number;
  /** Longest prompt plus output; at most what the KV cache holds. */
  maxModelTokens?: number;
  prefixCaching?: boolean;
  scheduling?: SchedulingOrder;
  /** SGLang serves the higher number first, vLLM the lower. */
  highPriorityFirst?: boolean;
  /** Admit a prompt only when all of it fits (vLLM's `scheduler_reserve_full_isl`). */
  reserveFullPrompt?: boolean;
  /** Slower KV tiers, nearest first; a tier may be shared with other engines. */
  tiers?: KvTier[];
  /** "faster": fetch from a tier only when that beats recomputing; "always": whatever the tier has. */
  fetch?: "faster" | "always";
  /** What happens to the KV of a session that waits for a tool; see {@link Retention}. */
  retention?: RetentionOptions;
}

/**
 * KV of a request that ends in a tool call. `lru`: stays findable until its blocks are needed (vLLM);
 * `keep`: stays pinned for `keepMs`; `offload`: moves to the nearest tier; `drop`: is forgotten;
 * `adaptive`: keep below `lowUsage` of the pool, offload below `highUsage`, drop above.
 */
export interface RetentionOptions {
  policy: "lru" | "keep" | "offload" | "drop" | "adaptive";
  keepMs?: number;
  lowUsage?: number;
  highUsage?: number;
}

/** Options with every default filled in. */
export interface ResolvedOptions {
  cost: StepCost;
  kvBlocks: number;
  kvBytesPerToken: number;
  blockTokens: number;
  maxBatchedTokens: number;
  maxSequences: number;
  longPrefillTokens: number;
  maxModelTokens: number;
  prefixCaching: boolean;
  scheduling: SchedulingOrder;
  highPriorityFirst: boolean;
  reserveFullPrompt: boolean;
  tiers: KvTier[];
  fetch: "faster" | "always";
  retention: Required<RetentionOptions>;
}

const DEFAULT_PRESET: PresetName = "30b-a3b-h20";
const DEFAULT_BLOCK_TOKENS = 16;
/** Continuum's and our own traces: nine of ten reuses come within 100 seconds. */
const DEFAULT_KEEP_MS = 100_000;

/**
 * Fills in the defaults.
 * @throws RangeError when the options contradict each other
 */
export function resolveOptions(options: EngineOptions): ResolvedOptions {
  if (options.retention?.policy === "offload" && (options.tiers ?? []).length === 0) {
    throw new RangeError("Offloading KV needs a tier to offload to: host memory or a shared one.");
  }
  const preset: Preset = PRESETS[options.preset ?? DEFAULT_PRESET];
  const blockTokens = options.blockTokens ?? DEFAULT_BLOCK_TOKENS;
  const kvBlocks = Math.floor((options.kvTokens ?? preset.kvTokens) / blockTokens);
  if (kvBlocks < 1) throw new RangeError(`The KV cache holds no block of ${blockTokens} tokens.`);
  const capacityTokens = kvBlocks * blockTokens;
  return {
    cost: options.cost ?? preset.cost,
    kvBlocks,
    kvBytesPerToken: options.kvBytesPerToken ?? preset.kvBytesPerToken,
    blockTokens,
    maxBatchedTokens: options.maxBatchedTokens ?? preset.maxBatchedTokens,
    maxSequences: options.maxSequences ?? preset.maxSequences,
    longPrefillTokens: options.longPrefillTokens ?? 0,
    maxModelTokens: Math.min(options.maxModelTokens ?? capacityTokens, capacityTokens),
    prefixCaching: options.prefixCaching ?? true,
    scheduling: options.scheduling ?? "fcfs",
    highPriorityFirst: options.highPriorityFirst ?? false,
    reserveFullPrompt: options.reserveFullPrompt ?? true,
    tiers: options.tiers ?? [],
    fetch: options.fetch ?? "faster",
    retention: {
      policy: options.retention?.policy ?? "lru",
      keepMs: options.retention?.keepMs ?? DEFAULT_KEEP_MS,
      lowUsage: options.retention?.lowUsage ?? 0.7,
      highUsage: options.retention?.highUsage ?? 0.9,
    },
  };
}
