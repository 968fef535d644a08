// SPDX-License-Identifier: Apache-2.0
// The flags of `smetric-envoy mock-gpu`; light, because every command loads them.
import { type Command, InvalidArgumentError, Option } from "commander";
import { PRESET_NAMES, type PresetName } from "./engine/step-cost.ts";

/** Options as commander delivers them. */
export interface MockGpuFlags {
  host: string;
  port: number;
  endpoints: number;
  engine: "vllm" | "sglang";
  preset: PresetName;
  speedup: number;
  model?: string;
  kvTokens?: number;
  numGpuBlocksOverride?: number;
  blockSize?: number;
  maxNumBatchedTokens?: number;
  maxNumSeqs?: number;
  maxModelLen?: number;
  longPrefillTokenThreshold: number;
  schedulingPolicy: "fcfs" | "priority";
  prefixCaching: boolean;
  promptTokensDetails: boolean;
  reportCreatedTokens: boolean;
  responseStore: boolean;
  globalTokens: number;
  globalGbps: number;
  hostTokens: number;
  hostGbps: number;
  decodeEngines: number;
  transferGbps: number;
  waitKv: "lru" | "keep" | "offload" | "drop" | "adaptive";
  toolRounds: number;
  seed: number;
  startDelayMs: number;
}

const WAIT_POLICIES = ["lru", "keep", "offload", "drop", "adaptive"];

/** Declares the flags; where vLLM has a flag for the same thing, its name is used. */
export function addMockGpuFlags(command: Command): Command {
  addServerFlags(command);
  addEngineFlags(command);
  return addFleetFlags(command);
}

function addServerFlags(command: Command): void {
  command
    .option("--host <address>", "address to listen on", "127.0.0.1")
    .option("--port <number>", "port of the first endpoint, 0 = free ones", wholeNumber, 8000)
    .option("--endpoints <number>", "GPUs in this process, on ports in a row", atLeastOne, 1)
    .addOption(choice("--engine <name>", "whose API and metrics", ["vllm", "sglang"], "vllm"))
    .option("--speedup <factor>", "engine time over wall time", factor, 1)
    .option("--model <name>", "served model name")
    .option("--no-prompt-tokens-details", "leave cached_tokens out of usage")
    .option("--report-created-tokens", "report tokens added to the cache", false)
    .option("--no-response-store", "keep no Responses answers")
    .option("--tool-rounds <number>", "tool calls before a text answer", wholeNumber, 0)
    .option("--seed <number>", "another seed, other answers", wholeNumber, 0)
    .option("--start-delay-ms <ms>", "time until healthy", wholeNumber, 0);
}

function addEngineFlags(command: Command): void {
  command
    .addOption(choice("--preset <name>", "GPU and model", PRESET_NAMES, "30b-a3b-h20"))
    .option("--kv-tokens <number>", "tokens in the KV cache of an endpoint", atLeastOne)
    .option("--num-gpu-blocks-override <number>", "KV blocks, one of them unusable", atLeastOne)
    .option("--block-size <tokens>", "tokens per KV block (vllm 16, sglang 1)", atLeastOne)
    .option("--max-num-batched-tokens <number>", "token budget of a step", atLeastOne)
    .option("--max-num-seqs <number>", "sequences in a step", atLeastOne)
    .option("--max-model-len <tokens>", "longest prompt plus output", atLeastOne)
    .option("--long-prefill-token-threshold <tokens>", "longest chunk, 0 = any", wholeNumber, 0)
    .addOption(choice("--scheduling-policy <order>", "queue order", ["fcfs", "priority"], "fcfs"))
    .option("--no-prefix-caching", "compute every prompt")
    .addOption(choice("--wait-kv <policy>", "KV while a tool runs", WAIT_POLICIES, "lru"));
}

function addFleetFlags(command: Command): Command {
  return command
    .option("--global-tokens <number>", "tokens of a KV tier shared by all", wholeNumber, 0)
    .option("--global-gbps <number>", "10^9 bytes a second of that tier", factor, 25)
    .option("--host-tokens <number>", "tokens of host memory per endpoint", wholeNumber, 0)
    .option("--host-gbps <number>", "10^9 bytes a second of that memory", factor, 40)
    .option("--decode-engines <number>", "decode pool; endpoints then only prefill", wholeNumber, 0)
    .option("--transfer-gbps <number>", "10^9 bytes a second out of a prefill", factor, 100);
}

function choice(flag: string, what: string, choices: string[], standard: string): Option {
  return new Option(flag, what).choices(choices).default(standard);
}

function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("A whole number is needed.");
  return Number(text);
}

function atLeastOne(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError("A whole number of at least 1 is needed.");
  return value;
}

function factor(text: string): number {
  const value = Number(text);
  if (!(value > 0 && value < Infinity))
    throw new InvalidArgumentError("A finite number above 0 is needed.");
  return value;
}
