// SPDX-License-Identifier: Apache-2.0
// Replays a plan through a real Envoy in front of mock GPUs, in scaled real time.
import { type RunningEnvoy, startEnvoy } from "../../../../envoy/launcher.ts";
import type { ArmRun } from "../../measures/record.ts";
import type { Driver, ReplayPlan, Watcher } from "../driver.ts";
import { ArmReplay } from "./arm-replay.ts";
import { envoyArm, observedArm } from "./arms.ts";
import { MockFleet } from "./mock-fleet.ts";
import { PatientClock } from "./patient-clock.ts";

export interface EnvoyDriverOptions {
  /** Simulated milliseconds per real one. */
  speedup: number;
  /** No call is made after this many real milliseconds, however far simulated time has come. */
  patienceMs?: number;
  /** How admission holds, as the filter's configuration says it, for arms that have it. */
  admission?: object;
  /** Gets the filter's records, which stand in the access log once the arm is over; times are simulated ones. */
  recorded?: (record: string) => void;
}

/** The times of a record, which Envoy's clock has told, as the agents see them. */
function inSimulatedTime(line: string, speedup: number): string {
  return line.replace(
    /"(time_ms|duration_ms|ttft_ms)":(\d+)/g,
    (_, name: string, ms: string) => `"${name}":${Math.round(Number(ms) * speedup)}`,
  );
}

export class EnvoyDriver implements Driver {
  readonly name = "envoy";

  private readonly clock = new PatientClock();

  constructor(private readonly options: EnvoyDriverOptions) {}

  /** Share of the real time that the machine spent on others. */
  get lostShare(): number {
    return this.clock.lostShare;
  }

  close(): void {
    this.clock.close();
  }

  async run(arm: string, plan: ReplayPlan, watcher: Watcher, signal: AbortSignal): Promise<ArmRun> {
    const { admission, recorded, speedup } = this.options;
    const { bootstrap, balancing, configuration, sendsSessionId } =
      recorded === undefined ? envoyArm(arm, plan.fleet.kvTokens, admission) : observedArm(arm);
    const pace = { ...this.options, realMs: () => this.clock.nowMs() };
    const fleet = await MockFleet.start(plan.fleet, pace);
    let envoy: RunningEnvoy | null = null;
    try {
      const endpoints = fleet.addresses;
      envoy = await startEnvoy({ bootstrap, balancing, configuration, endpoints });
      fleet.url = envoy.url;
      return await new ArmReplay(arm, sendsSessionId, plan, fleet, pace, watcher).play(signal);
    } finally {
      await envoy?.stop();
      await fleet.close();
      if (recorded !== undefined) {
        const lines = (envoy?.log() ?? "").split("\n").filter((line) => line.startsWith("{"));
        for (const line of lines) recorded(inSimulatedTime(line, speedup));
      }
    }
  }
}
