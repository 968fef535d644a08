// SPDX-License-Identifier: Apache-2.0
// How long one engine step takes, and the measured or published constants of the known GPUs.

/**
 * `step = base + prefillToken*P + prefillPair*sum n(L - n/2) + decodeSequence*D + decodeContextToken*sum ctx`
 * in milliseconds: P prefill tokens in the step, n the chunk of one prompt whose context is L tokens
 * after the chunk, D sequences that decode, ctx their context lengths.
 *
 * The pair term is causal attention (SMetric's prefill law); without the context term of decodes an
 * unbalanced fleet would cost nothing.
 */
export interface StepCost {
  baseMs: number;
  prefillTokenMs: number;
  prefillPairMs: number;
  decodeSequenceMs: number;
  decodeContextTokenMs: number;
}

/** What one step computes, summed over its sequences. */
export interface StepWork {
  prefillTokens: number;
  prefillPairs: number;
  decodeSequences: number;
  decodeContextTokens: number;
}

/** Duration of one step in milliseconds. */
export function stepMs(cost: StepCost, work: StepWork): number {
  return (
    cost.baseMs +
    cost.prefillTokenMs * work.prefillTokens +
    cost.prefillPairMs * work.prefillPairs +
    cost.decodeSequenceMs * work.decodeSequences +
    cost.decodeContextTokenMs * work.decodeContextTokens
  );
}

/** Milliseconds to prefill the last `newTokens` of a prompt of `promptTokens`, alone on the GPU. */
export function prefillMs(cost: StepCost, newTokens: number, promptTokens: number): number {
  const pairs = newTokens * (promptTokens - newTokens / 2);
  return cost.prefillTokenMs * newTokens + cost.prefillPairMs * pairs;
}

/** The cost on a GPU that is so many times as fast. */
export function scaled(cost: StepCost, speed: number): StepCost {
  return {
    baseMs: cost.baseMs / speed,
    prefillTokenMs: cost.prefillTokenMs / speed,
    prefillPairMs: cost.prefillPairMs / speed,
    decodeSequenceMs: cost.decodeSequenceMs / speed,
    decodeContextTokenMs: cost.decodeContextTokenMs / speed,
  };
}

/** One GPU (or tensor-parallel group) with one model on it. */
export interface Preset {
  model: string;
  cost: StepCost;
  /** Tokens that fit into the KV cache. */
  kvTokens: number;
  /** bf16: 2 x layers x KV heads x head size x 2 bytes. */
  kvBytesPerToken: number;
  maxBatchedTokens: number;
  maxSequences: number;
}

/*
 * vLLM's API server defaults: 8,192 batched tokens and 1,024 sequences from 70 GiB up, 2,048 and 256
 * below and on an A100 (EngineArgs.get_batch_defaults).
 * BLIS = fitted coefficients and total_kv_blocks (16-token blocks, 80 GB GPUs) of the inference-sim
 * project; roofline = KV bytes per token over 70 % of the memory bandwidth.
 */
const H100_BATCH = { maxBatchedTokens: 8192, maxSequences: 1024 };
const A100_BATCH = { maxBatchedTokens: 2048, maxSequences: 256 };

export const PRESETS = {
  /** BLIS for the linear terms, the quadratic term of Dynamo's mocker (4.2e-7 ms n^2), roofline for decode. */
  "8b-h100": {
    model: "meta-llama/Llama-3.1-8B-Instruct",
    cost: {
      baseMs: 5.753,
      prefillTokenMs: 0.01725,
      prefillPairMs: 8.4e-7,
      decodeSequenceMs: 0.006,
      decodeContextTokenMs: 5.6e-5,
    },
    kvTokens: 29_205 * 16,
    kvBytesPerToken: 131_072,
    ...H100_BATCH,
  },
  /** BLIS for the linear terms; attention scaled by peak FLOPS (312 of 989 TFLOPS), roofline at 2.0 TB/s. */
  "8b-a100": {
    model: "meta-llama/Llama-3.1-8B-Instruct",
    cost: {
      baseMs: 16.442,
      prefillTokenMs: 0.0478,
      prefillPairMs: 2.66e-6,
      decodeSequenceMs: 0.0182,
      decodeContextTokenMs: 9.4e-5,
    },
    kvTokens: 29_205 * 16,
    kvBytesPerToken: 131_072,
    ...A100_BATCH,
  },
  /** The constants behind the simulated comparison of routing policies; 96 GB less fp8 weights for the cache. */
  "30b-a3b-h20": {
    model: "Qwen/Qwen3-Coder-30B-A3B-Instruct",
    cost: {
      baseMs: 6,
      prefillTokenMs: 0.05,
      prefillPairMs: 4e-7,
      decodeSequenceMs: 0.02,
      decodeContextTokenMs: 3e-5,
    },
    kvTokens: 700_000,
    kvBytesPerToken: 98_304,
    ...H100_BATCH,
  },
  /** BLIS for the linear terms; attention and roofline of 80 layers split over four GPUs. */
  "70b-tp4-h100": {
    model: "meta-llama/Llama-3.3-70B-Instruct",
    cost: {
      baseMs: 12.601,
      prefillTokenMs: 0.0764,
      prefillPairMs: 1.05e-6,
      decodeSequenceMs: 0.0668,
      decodeContextTokenMs: 3.6e-5,
    },
    kvTokens: 128_273 * 16,
    kvBytesPerToken: 327_680,
    ...H100_BATCH,
  },
} as const satisfies Record<string, Preset>;

export type PresetName = keyof typeof PRESETS;

export const PRESET_NAMES = Object.keys(PRESETS) as PresetName[];
