// SPDX-License-Identifier: Apache-2.0
// How fast the engines are, from the log alone: the quick answers of a log waited for nobody.
import { quantile } from "simple-statistics";
import {
  prefillMs,
  PRESET_NAMES,
  type PresetName,
  PRESETS,
  type StepCost,
  stepMs,
} from "../mock-gpu/engine/step-cost.ts";
import type { LinkedRow } from "../replay/workloads/linked-rows.ts";
import type { Observed } from "./observed.ts";

export interface Speed {
  /** The known engine that comes nearest; it lends the shape of the costs. */
  preset: PresetName;
  cost: StepCost;
  /** How much slower than that preset prefill and decode are; null where the log does not tell. */
  prefillFactor: number;
  decodeFactor: number | null;
}

/** Answers that waited for nobody: of all that computed enough, the quickest tenth; of all that wrote enough, fewer. */
const QUICK_PREFILL = 0.1;
const QUICK_DECODE = 0.02;
const MIN_SAMPLES = 20;
/** Fewer new tokens are lost in what every step costs. */
const MIN_NEW_TOKENS = 512;
const MIN_OUTPUT_TOKENS = 16;

/** Times to the first token over what the preset's prefill would take, alone. */
function prefillRatios(rows: readonly LinkedRow[], cost: StepCost): number[] {
  return rows.flatMap(({ inputTokens, served: { cachedTokens, ttftMs } }) => {
    const newTokens = inputTokens - (cachedTokens ?? 0);
    if (cachedTokens === null || ttftMs === null || newTokens < MIN_NEW_TOKENS) return [];
    return [Math.max(1, ttftMs - cost.baseMs) / prefillMs(cost, newTokens, inputTokens)];
  });
}

/** Times per output token over what the preset's decode would take, alone. */
function decodeRatios(rows: readonly LinkedRow[], cost: StepCost): number[] {
  return rows.flatMap(({ inputTokens, outputTokens, durationMs, served: { ttftMs } }) => {
    if (ttftMs === null || durationMs === null || outputTokens < MIN_OUTPUT_TOKENS) return [];
    const tokenMs = (durationMs - ttftMs) / (outputTokens - 1);
    const alone = { prefillTokens: 0, prefillPairs: 0, decodeSequences: 1 };
    return [tokenMs / stepMs(cost, { ...alone, decodeContextTokens: inputTokens })];
  });
}

function quick(ratios: readonly number[], share: number): number | null {
  return ratios.length < MIN_SAMPLES ? null : quantile([...ratios], share);
}

function scaled(cost: StepCost, prefill: number, decode: number): StepCost {
  return {
    baseMs: cost.baseMs * decode,
    prefillTokenMs: cost.prefillTokenMs * prefill,
    prefillPairMs: cost.prefillPairMs * prefill,
    decodeSequenceMs: cost.decodeSequenceMs * decode,
    decodeContextTokenMs: cost.decodeContextTokenMs * decode,
  };
}

/** How far a factor is from one, either way. */
function distance(factor: number): number {
  return Math.abs(Math.log(factor));
}

/**
 * The engine's costs, those of the nearest preset scaled.
 * @param only the preset to scale; the nearest of all where none is given
 * @returns null where too few answers tell times and cached tokens
 */
export function estimateSpeed({ calls }: Observed, only?: PresetName): Speed | null {
  const rows = calls.map(({ row }) => row);
  let best: Speed | null = null;
  for (const preset of only === undefined ? PRESET_NAMES : [only]) {
    const { cost } = PRESETS[preset];
    const prefillFactor = quick(prefillRatios(rows, cost), QUICK_PREFILL);
    if (prefillFactor === null) return null;
    const decodeFactor = quick(decodeRatios(rows, cost), QUICK_DECODE);
    const found = {
      ...{ preset, prefillFactor, decodeFactor },
      cost: scaled(cost, prefillFactor, decodeFactor ?? prefillFactor),
    };
    if (best === null || distance(prefillFactor) < distance(best.prefillFactor)) best = found;
  }
  return best;
}
