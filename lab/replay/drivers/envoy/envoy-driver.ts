// SPDX-License-Identifier: Apache-2.0
// Replays a plan through a real Envoy in front of mock GPUs, in scaled real time.
import { type RunningEnvoy, startEnvoy } from "../../../../envoy/launcher.ts";
import type { ArmRun } from "../../measures/record.ts";
import type { Driver, ReplayPlan, Watcher } from "../driver.ts";
import { ArmReplay } from "./arm-replay.ts";
import { envoyArm } from "./arms.ts";
import { MockFleet } from "./mock-fleet.ts";

export interface EnvoyDriverOptions {
  /** Simulated milliseconds per real one. */
  speedup: number;
}

export class EnvoyDriver implements Driver {
  readonly name = "envoy";

  constructor(private readonly options: EnvoyDriverOptions) {}

  async run(arm: string, plan: ReplayPlan, watcher: Watcher, signal: AbortSignal): Promise<ArmRun> {
    const { bootstrap, balancing, configuration, sendsSessionId } = envoyArm(arm);
    const { speedup } = this.options;
    const fleet = await MockFleet.start(plan.fleet, speedup);
    let envoy: RunningEnvoy | null = null;
    try {
      const endpoints = fleet.addresses;
      envoy = await startEnvoy({ bootstrap, balancing, configuration, endpoints });
      fleet.url = envoy.url;
      return await new ArmReplay(arm, sendsSessionId, plan, fleet, speedup, watcher).play(signal);
    } finally {
      await envoy?.stop();
      await fleet.close();
    }
  }
}
