// SPDX-License-Identifier: Apache-2.0
// A fleet of mock GPUs for one arm: same options, and what their recorders saw of each call.
import { type MockGpu, startMockGpu } from "../../../mock-gpu/http/server.ts";
import type { FleetPlan } from "../driver.ts";
import { CALL_HEADER, type Sighting, type Target, UNSEEN } from "./target.ts";

function numberOf(value: string | string[] | undefined): number | null {
  return typeof value === "string" && value !== "" ? Number(value) : null;
}

export class MockFleet implements Target {
  /** Set once a gateway stands in front of the fleet. */
  url = "";
  private readonly seen = new Map<string, Sighting>();

  private constructor(private readonly gpus: readonly MockGpu[]) {}

  /** @param speedup simulated milliseconds per real one */
  static async start(plan: FleetPlan, speedup: number): Promise<MockFleet> {
    const { preset, kvTokens, blockTokens } = plan;
    const options = { preset, kvTokens, blockTokens, speedup, reportZeroCached: true };
    const starting = Array.from({ length: plan.endpoints }, () => startMockGpu(options));
    return new MockFleet(await Promise.all(starting));
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
    await Promise.all(this.gpus.map((gpu) => gpu.close()));
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
