// SPDX-License-Identifier: Apache-2.0
// The flags that `what-if` and `tune` have in common.
import type { Command } from "commander";

/** Flags with their defaults; those without one are left to the log. */
export interface LogFlags {
  now?: string;
  endpoints?: string;
  kvTokens?: string;
  preset?: string;
  blockTokens: string;
  bytesPerToken: string;
  minutes: string;
  seeds: string;
  json?: string;
}

export function addLogFlags(command: Command): Command {
  return command
    .option("--now <policy>", "how the fleet is balanced today (default: guessed from the log)")
    .option("--endpoints <n>", "endpoints (default: those that the log names)")
    .option("--kv-tokens <n>", "KV cache of one endpoint in tokens (default: estimated)")
    .option("--preset <name>", "GPU and model (default: as fast as the log's answers)")
    .option("--block-tokens <n>", "tokens per KV block", "64")
    .option("--bytes-per-token <b>", "size of synthesised bodies", "0.5")
    .option("--minutes <m>", "longest part of the log that is replayed, the busiest", "30")
    .option("--seeds <n>", "runs of each column", "3")
    .option("--json <file>", "write all measures to a file");
}
