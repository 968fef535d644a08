// SPDX-License-Identifier: Apache-2.0
// A fleet of mock GPUs for one arm: same options, and what their recorders saw of each call.
import { type MockFleet as RunningFleet, startMockFleet } from "../../../mock-gpu/http/fleet.ts";
import type { MockGpu } from "../../../mock-gpu/http/server.ts";
import type { FleetPlan } from "../driver.ts";
import type { Pace } from "./arm-replay.ts";
import { CALL_HEADER, type Sighting, type Target, UNSEEN } from "./target.ts";

function numberOf(value: string | string[] | undefined): number | null {
  return typeof value === "string" && value !== "" ? Number(value) : null;
}

export class MockFleet implements Target {
  /** Set once a gateway stands in front of the fleet. */
  url = "";
  private readonly seen = new Map<string, Sighting>();

  private readonly gpus: readonly MockGpu[];

  private constructor(private readonly fleet: RunningFleet) {
    this.gpus = fleet.gpus;
  }

  static async start(plan: FleetPlan, pace: Pace): Promise<MockFleet> {
    const { preset, kvTokens, blockTokens, globalTokens, globalGbps } = plan;
    const fleet = await startMockFleet({
      ...{ preset, kvTokens, blockTokens },
      ...(globalTokens > 0 ? { globalTokens, globalGbPerS: globalGbps } : {}),
      count: plan.endpoints,
      speedup: pace.speedup,
      wallMs: pace.realMs,
      reportZeroCached: true,
    });
    return new MockFleet(fleet);
  }

  get addresses(): string[] {
    return this.gpus.map((gpu) => gpu.address);
  }

  get endpoints(): number {
    return this.gpus.length;
  }

  endpointIndex(name: string | null): number {
    return this.gpus.findIndex((gpu) => gpu.address === name);
  }

  /** Requests in flight per endpoint. */
  inFlight(): number[] {
    return this.gpus.map((gpu) => gpu.engine.running + gpu.engine.waiting);
  }

  /** What reached an endpoint with a call, forgotten once asked for. */
  take(call: string): Sighting {
    for (const gpu of this.gpus) this.collect(gpu);
    const sighting = this.seen.get(call) ?? UNSEEN;
    this.seen.delete(call);
    return sighting;
  }

  async close(): Promise<void> {
    await this.fleet.close();
  }

  private collect(gpu: MockGpu): void {
    for (const { headers } of gpu.recorder.requests) {
      const call = headers[CALL_HEADER];
      if (typeof call !== "string") continue;
      this.seen.set(call, {
        seenTurn: numberOf(headers["x-smetric-turn"]),
        verifiedTurn: numberOf(headers["x-smetric-verified-turn"]),
        decision: (headers["x-smetric-decision"] as string | undefined) ?? null,
      });
    }
    gpu.recorder.clear();
  }
}
