// SPDX-License-Identifier: Apache-2.0
// `smetric-envoy mock-gpu`: one mock GPU as a process.
import { Failure } from "../../cli/failure.ts";
import { type MockGpuFlags } from "./flags.ts";
import { startMockGpu } from "./http/server.ts";

/** Runs until a signal ends it. */
export async function mockGpu(flags: MockGpuFlags): Promise<void> {
  const gpu = await startMockGpu(optionsOf(flags)).catch((error: unknown) => {
    throw new Failure(`mock-gpu: ${error instanceof Error ? error.message : String(error)}`);
  });
  console.log(`mock GPU ${flags.preset} listens on ${gpu.url}`);
  await new Promise<void>((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
    gpu.died.then(resolve, resolve);
  });
  await gpu.close();
}

function optionsOf(flags: MockGpuFlags): Parameters<typeof startMockGpu>[0] {
  const blocks = flags.numGpuBlocksOverride;
  return {
    host: flags.host,
    port: flags.port,
    preset: flags.preset,
    speedup: flags.speedup,
    model: flags.model,
    kvTokens: blocks === undefined ? flags.kvTokens : (blocks - 1) * flags.blockSize,
    blockTokens: flags.blockSize,
    maxBatchedTokens: flags.maxNumBatchedTokens,
    maxSequences: flags.maxNumSeqs,
    maxModelTokens: flags.maxModelLen,
    scheduling: flags.schedulingPolicy,
    promptTokensDetails: flags.promptTokensDetails,
    toolRounds: flags.toolRounds,
    startDelayMs: flags.startDelayMs,
  };
}
