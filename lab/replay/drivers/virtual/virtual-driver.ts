// SPDX-License-Identifier: Apache-2.0
// Replays a plan in virtual time: shipped filter, published policies or stock balancers in front of engines.
import { setImmediate as breathe } from "node:timers/promises";
import { Failure } from "../../../../cli/failure.ts";
import { PRESETS } from "../../../mock-gpu/engine/step-cost.ts";
import { BASELINE_NAMES, publishedNamed } from "../../baselines/named.ts";
import { BaselineGateway } from "../../baselines/policy.ts";
import { STOCK_POLICIES, StockGateway } from "../../baselines/stock.ts";
import type { ArmRun } from "../../measures/record.ts";
import { chance } from "../../workloads/random.ts";
import type { Driver, ReplayPlan, Watcher } from "../driver.ts";
import { FilterGateway } from "./filter-gateway.ts";
import { GatewayGroup } from "./gateway-group.ts";
import { GatewayStopwatch } from "./gateway-stopwatch.ts";
import type { Gateway } from "./gateway.ts";
import { Simulation } from "./simulation.ts";

export interface VirtualDriverOptions {
  /** Path of the compiled filter. */
  wasm: string;
  /** Bytes of body per token. */
  bytesPerToken: number;
  /** Envoy workers that share the filter's memory. */
  workers: number;
  /** Gateways in front of the fleet. */
  gateways: number;
  /** Fields of the filter's configuration beside its policy. */
  configuration?: object;
}

/** Policies of the filter by name: these run the compiled module. */
export const FILTER_POLICIES: readonly string[] = [
  "priced",
  "sticky",
  "smetric-v1",
  "smetric-v2",
  "lmetric",
  "agentix",
];

/** @throws Failure for a name that virtual time does not play, or a parameter that it does not take */
export function requireVirtualArm(arm: string): void {
  if (Object.hasOwn(STOCK_POLICIES, arm) || FILTER_POLICIES.includes(arm)) return;
  const { cost } = Object.values(PRESETS)[0]!;
  if (publishedNamed(arm, cost) === null) throw unknownArm(arm);
}

function unknownArm(arm: string): Failure {
  const names = [...FILTER_POLICIES, ...BASELINE_NAMES];
  return new Failure(`policy ${arm}: allowed in virtual time are ${names.join(", ")}`);
}

/** Events between two looks at signals and timers. */
const EVENTS_PER_TURN = 20_000;

export class VirtualDriver implements Driver {
  readonly name = "virtual";
  private lastSpeed = "";

  constructor(private readonly options: VirtualDriverOptions) {}

  async run(arm: string, plan: ReplayPlan, watcher: Watcher, signal: AbortSignal): Promise<ArmRun> {
    const stopwatch = new GatewayStopwatch(this.gatewayOf(arm, plan));
    const startedAt = performance.now();
    try {
      const simulation = new Simulation(arm, plan, stopwatch, watcher);
      while (!simulation.advance(EVENTS_PER_TURN)) {
        await breathe();
        signal.throwIfAborted();
      }
      const spentMs = performance.now() - startedAt;
      this.lastSpeed = stopwatch.report(simulation.eventCount, spentMs);
      return simulation.finish();
    } finally {
      stopwatch.close();
    }
  }

  speed(): string {
    return this.lastSpeed;
  }

  private gatewayOf(arm: string, plan: ReplayPlan): Gateway {
    const { gateways } = this.options;
    const all = Array.from({ length: gateways }, (_, index) => this.oneGateway(arm, plan, index));
    if (all.length === 1) return all[0]!;
    return new GatewayGroup(all, chance(plan.seed, "gateways"));
  }

  private oneGateway(arm: string, plan: ReplayPlan, index: number): Gateway {
    const { endpoints, decodeEndpoints, preset, cost } = plan.fleet;
    const draws = chance(plan.seed, `gateway/${arm}/${index}`);
    const stock = STOCK_POLICIES[arm];
    if (stock !== undefined) return new StockGateway(stock, endpoints, draws);
    if (FILTER_POLICIES.includes(arm)) {
      const { wasm, bytesPerToken, workers } = this.options;
      const seed = plan.seed * 64 + index;
      const { model } = PRESETS[preset];
      const configuration = { policy: arm, ...this.options.configuration };
      return new FilterGateway({
        wasm,
        configuration,
        endpoints,
        decodeEndpoints,
        workers,
        seed,
        bytesPerToken,
        model,
      });
    }
    const published = publishedNamed(arm, cost ?? PRESETS[preset].cost);
    if (published !== null) return new BaselineGateway(published, endpoints, draws);
    throw unknownArm(arm);
  }
}
