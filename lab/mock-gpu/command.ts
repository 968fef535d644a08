// SPDX-License-Identifier: Apache-2.0
// `smetric-envoy mock-gpu`: mock GPUs as a process.
import { Failure } from "../../cli/failure.ts";
import { type MockGpuFlags } from "./flags.ts";
import { type MockFleetOptions, startMockFleet } from "./http/fleet.ts";

/** Runs until a signal ends it, or until the fault `die` has killed every endpoint. */
export async function mockGpu(flags: MockGpuFlags): Promise<void> {
  const fleet = await startMockFleet(fleetOptions(flags)).catch((error: unknown) => {
    throw new Failure(`mock-gpu: ${error instanceof Error ? error.message : String(error)}`);
  });
  for (const { url } of fleet.gpus) console.log(`mock GPU ${flags.preset} listens on ${url}`);
  await new Promise<void>((resolve) => {
    process.once("SIGINT", resolve);
    process.once("SIGTERM", resolve);
    void Promise.all(fleet.gpus.map(({ died }) => died)).then(() => resolve());
  });
  await fleet.close();
}

/** The options of a fleet that these flags describe. */
export function fleetOptions(flags: MockGpuFlags): MockFleetOptions {
  const blocks = flags.numGpuBlocksOverride;
  return {
    host: flags.host,
    count: flags.endpoints,
    ports: portsFrom(flags.port, flags.endpoints),
    engine: flags.engine,
    preset: flags.preset,
    speedup: flags.speedup,
    model: flags.model,
    kvTokens: blocks === undefined ? flags.kvTokens : (blocks - 1) * (flags.blockSize ?? 16),
    blockTokens: flags.blockSize,
    maxBatchedTokens: flags.maxNumBatchedTokens,
    maxSequences: flags.maxNumSeqs,
    maxModelTokens: flags.maxModelLen,
    longPrefillTokens: flags.longPrefillTokenThreshold,
    scheduling: flags.schedulingPolicy,
    prefixCaching: flags.prefixCaching,
    promptTokensDetails: flags.promptTokensDetails,
    reportCreatedTokens: flags.reportCreatedTokens,
    responseStore: flags.responseStore,
    globalTokens: flags.globalTokens,
    globalGbPerS: flags.globalGbps,
    hostTokens: flags.hostTokens,
    hostGbPerS: flags.hostGbps,
    decodeEngines: flags.decodeEngines,
    transferGbPerS: flags.transferGbps,
    retention: { policy: flags.waitKv },
    toolRounds: flags.toolRounds,
    seed: flags.seed,
    startDelayMs: flags.startDelayMs,
  };
}

function portsFrom(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => (first === 0 ? 0 : first + i));
}
