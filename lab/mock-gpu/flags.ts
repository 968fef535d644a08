// SPDX-License-Identifier: Apache-2.0
// The flags of `smetric-envoy mock-gpu`; light, because every command loads them.
import { type Command, InvalidArgumentError, Option } from "commander";
import { PRESET_NAMES, type PresetName } from "./engine/step-cost.ts";

/** Options as commander delivers them. */
export interface MockGpuFlags {
  host: string;
  port: number;
  preset: PresetName;
  speedup: number;
  model?: string;
  kvTokens?: number;
  numGpuBlocksOverride?: number;
  blockSize: number;
  maxNumBatchedTokens?: number;
  maxNumSeqs?: number;
  maxModelLen?: number;
  schedulingPolicy: "fcfs" | "priority";
  promptTokensDetails: boolean;
  toolRounds: number;
  startDelayMs: number;
}

/** Declares the flags; where vLLM has a flag for the same thing, its name is used. */
export function addMockGpuFlags(command: Command): Command {
  return command
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port, 0 = a free one", wholeNumber, 8000)
    .addOption(choice("--preset <name>", "GPU and model", PRESET_NAMES, "30b-a3b-h20"))
    .option("--speedup <factor>", "engine time over wall time", factor, 1)
    .option("--model <name>", "served model name")
    .option("--kv-tokens <number>", "tokens in the KV cache", wholeNumber)
    .option("--num-gpu-blocks-override <number>", "KV blocks, one of them unusable", wholeNumber)
    .option("--block-size <tokens>", "tokens per KV block", wholeNumber, 16)
    .option("--max-num-batched-tokens <number>", "token budget of a step", wholeNumber)
    .option("--max-num-seqs <number>", "sequences in a step", wholeNumber)
    .option("--max-model-len <tokens>", "longest prompt plus output", wholeNumber)
    .addOption(choice("--scheduling-policy <order>", "queue order", ["fcfs", "priority"], "fcfs"))
    .option("--no-prompt-tokens-details", "leave cached_tokens out of usage")
    .option("--tool-rounds <number>", "tool calls before a text answer", wholeNumber, 0)
    .option("--start-delay-ms <ms>", "time until healthy", wholeNumber, 0);
}

function choice(flag: string, what: string, choices: string[], standard: string): Option {
  return new Option(flag, what).choices(choices).default(standard);
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("A whole number is needed.");
  return Number(text);
}

function factor(text: string): number {
  const value = Number(text);
  if (!(value > 0)) throw new InvalidArgumentError("A number above 0 is needed.");
  return value;
}
