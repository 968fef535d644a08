// SPDX-License-Identifier: Apache-2.0
// Replays a plan in virtual time: shipped filter, published policies or stock balancers in front of engines.
import { setImmediate as breathe } from "node:timers/promises";
import { Failure } from "../../../../cli/failure.ts";
import { PRESETS } from "../../../mock-gpu/engine/step-cost.ts";
import type { BalancingPolicy } from "../../../virtual-envoy/index.ts";
import { BASELINE_NAMES, publishedNamed } from "../../baselines/named.ts";
import { BaselineGateway } from "../../baselines/policy.ts";
import { STOCK_POLICIES, StockGateway } from "../../baselines/stock.ts";
import type { ArmRun } from "../../measures/record.ts";
import { chance } from "../../workloads/random.ts";
import { type Driver, type ReplayPlan, UNDISTURBED, type Watcher } from "../driver.ts";
import { FilterGateway } from "./filter-gateway.ts";
import { AimdGateway } from "../../admission/aimd-gateway.ts";
import { admissionNamed, splitArm } from "../../admission/arms.ts";
import { GatewayGroup } from "./gateway-group.ts";
import { GatewayStopwatch } from "./gateway-stopwatch.ts";
import type { Gateway } from "./gateway.ts";
import { Simulation } from "./simulation.ts";

export interface VirtualDriverOptions {
  /** Path of the compiled filter. */
  wasm: string;
  /** Bytes of body per token. */
  bytesPerToken: number;
  /** The filter knows that ratio from the start. */
  knowsText?: boolean;
  /** Envoy workers that share the filter's memory. */
  workers: number;
  /** Gateways in front of the fleet. */
  gateways: number;
  /** Fields of the filter's configuration beside its policy; `admission` only counts for arms that have it. */
  configuration?: object;
  /**
   * Gets the filter's records, one a request, as an access log would. Beside Envoy's own balancers the filter then
   * observes.
   */
  recorded?: (record: string) => void;
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
  const { policy, admission } = splitArm(arm);
  const way = admissionNamed(admission, 1).name;
  if (way === "aimd" && policy !== "sticky") {
    throw new Failure(`policy ${policy}: --admission aimd is a gateway of its own, give sticky`);
  }
  if (FILTER_POLICIES.includes(policy)) return;
  if (way !== "off")
    throw new Failure(`policy ${policy}: only the filter's policies have admission`);
  if (Object.hasOwn(STOCK_POLICIES, policy)) return;
  const { cost } = Object.values(PRESETS)[0]!;
  if (publishedNamed(policy, cost) === null) throw unknownArm(policy);
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
    const { sessionsKeepGateway } = plan.disturbance ?? UNDISTURBED;
    const draws = chance(plan.seed, "gateways");
    return new GatewayGroup(all, ({ session }) =>
      (sessionsKeepGateway ? chance(plan.seed, `gateway of ${session.id}`) : draws).below(gateways),
    );
  }

  private oneGateway(arm: string, plan: ReplayPlan, index: number): Gateway {
    const { endpoints, preset, cost, kvTokens } = plan.fleet;
    const { policy, admission } = splitArm(arm);
    const draws = chance(plan.seed, `gateway/${arm}/${index}`);
    const stock = STOCK_POLICIES[policy];
    if (stock !== undefined) {
      if (this.options.recorded === undefined) return new StockGateway(stock, endpoints, draws);
      return this.filterGateway({ mode: "observe" }, plan, index, stock);
    }
    const way = admissionNamed(admission, kvTokens);
    if (way.name === "aimd") return new AimdGateway(endpoints);
    if (FILTER_POLICIES.includes(policy)) {
      const configuration = this.configurationOf(policy, way.configuration, index);
      return this.filterGateway(configuration, plan, index);
    }
    const published = publishedNamed(policy, cost ?? PRESETS[preset].cost);
    if (published !== null) return new BaselineGateway(published, endpoints, draws);
    throw unknownArm(policy);
  }

  private configurationOf(policy: string, admission: object | null, index: number): object {
    const { gateways, configuration = {} } = this.options;
    const { admission: given, ...rest } = configuration as { admission?: object };
    if (admission === null) return { policy, ...rest };
    // Several gateways share out the endpoints where admission fills them.
    const part = gateways > 1 ? { gateways: { index, count: gateways } } : {};
    return { policy, ...part, admission: { ...admission, ...given }, ...rest };
  }

  private filterGateway(
    configuration: object,
    plan: ReplayPlan,
    index: number,
    balancing?: BalancingPolicy,
  ): Gateway {
    const { endpoints, decodeEndpoints, preset } = plan.fleet;
    const { wasm, bytesPerToken, knowsText, workers, recorded } = this.options;
    const { estimateError } = plan.disturbance ?? UNDISTURBED;
    return new FilterGateway({
      configuration: recorded === undefined ? configuration : { record: true, ...configuration },
      ...{ wasm, endpoints, decodeEndpoints, workers, bytesPerToken, knowsText, estimateError },
      ...{ balancing, recorded },
      seed: plan.seed * 64 + index,
      model: PRESETS[preset].model,
    });
  }
}
