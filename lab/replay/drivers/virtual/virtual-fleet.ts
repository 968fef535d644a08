// SPDX-License-Identifier: Apache-2.0
// The engines of a replay in virtual time, and what befalls them: caches change their size, endpoints fail and return.
import { Cluster } from "../../../mock-gpu/engine/cluster.ts";
import { Disaggregation } from "../../../mock-gpu/engine/disaggregation.ts";
import { Engine } from "../../../mock-gpu/engine/engine.ts";
import { KvTier } from "../../../mock-gpu/engine/kv-tier.ts";
import type { EngineRequest, RequestInit } from "../../../mock-gpu/engine/request.ts";
import { PRESETS } from "../../../mock-gpu/engine/step-cost.ts";
import type { FleetEvent } from "../../events.ts";
import type { FleetPlan } from "../driver.ts";

/** What leaves one prefill engine towards the decode pool, 10^9 bytes a second: eight 100G links. */
const PREFILL_LINK_GBPS = 100;

function tiersOf(plan: FleetPlan): KvTier[] {
  const { preset, blockTokens, globalTokens, globalGbps } = plan;
  if (globalTokens === 0 || globalGbps === 0) return [];
  const tier = new KvTier({
    name: "global",
    capacityTokens: globalTokens,
    blockTokens,
    bytesPerToken: PRESETS[preset].kvBytesPerToken,
    readGbPerS: globalGbps,
  });
  return [tier];
}

/** The largest cache that an endpoint will ever have. */
function mostTokens(index: number, tokens: number, events: readonly FleetEvent[]): number {
  let most = tokens;
  for (const event of events) {
    if (event.kind !== "kv") continue;
    const isMeant = event.endpoints.length === 0 || event.endpoints.includes(index);
    if (isMeant) most = Math.max(most, event.kvTokens);
  }
  return most;
}

export class VirtualFleet {
  private readonly cluster: Cluster;
  /** Null where every endpoint prefills and decodes. */
  private readonly pools: Disaggregation | null;
  private readonly running: Set<EngineRequest>[];
  private readonly down = new Set<number>();

  constructor(plan: FleetPlan, events: readonly FleetEvent[]) {
    const { preset, cost, blockTokens, endpoints, decodeEndpoints } = plan;
    const tiers = tiersOf(plan);
    const engines = Array.from({ length: endpoints + decodeEndpoints }, (_, index) => {
      const tokens = plan.kvTokensEach?.[index] ?? plan.kvTokens;
      const kvTokens = mostTokens(index, tokens, events);
      const engine = new Engine({ preset, cost, kvTokens, blockTokens, tiers });
      if (kvTokens > tokens) engine.resizeCache(tokens, 0);
      return engine;
    });
    this.cluster = new Cluster(engines);
    this.running = engines.map(() => new Set());
    const pools = {
      prefill: endpoints,
      decode: decodeEndpoints,
      transferGbPerS: PREFILL_LINK_GBPS,
    };
    this.pools = decodeEndpoints === 0 ? null : new Disaggregation(this.cluster, pools);
  }

  /** Steps that all engines have taken. */
  get steps(): number {
    return this.cluster.engines.reduce((sum, engine) => sum + engine.counters.steps, 0);
  }

  nextEventMs(): number {
    return this.cluster.nextEventMs();
  }

  advance(toMs: number): void {
    this.cluster.advance(toMs);
  }

  /**
   * @returns false where the endpoint is down
   * @throws EngineRefusal for a request that can never be served
   */
  submit(endpoint: number, init: RequestInit, nowMs: number): boolean {
    if (this.down.has(endpoint)) return false;
    if (this.pools !== null) {
      this.pools.submit(endpoint, init, nowMs);
      return true;
    }
    const running = this.running[endpoint]!;
    const end = (request: EngineRequest, atMs: number): void => {
      running.delete(request);
      init.sink?.end?.(request, atMs);
    };
    running.add(this.cluster.submit(endpoint, { ...init, sink: { ...init.sink, end } }, nowMs));
    return true;
  }

  isDown(endpoint: number): boolean {
    return this.down.has(endpoint);
  }

  /** An endpoint loses its requests, which end as aborted, and its cache. @param stays it is not back at once */
  fail(endpoint: number, nowMs: number, stays: boolean): void {
    if (stays) this.down.add(endpoint);
    for (const request of [...this.running[endpoint]!]) {
      this.cluster.abort(endpoint, request, nowMs);
    }
    this.cluster.engine(endpoint).clearCache();
  }

  revive(endpoint: number): void {
    this.down.delete(endpoint);
  }

  resizeCache(endpoint: number, kvTokens: number, nowMs: number): void {
    this.cluster.resizeCache(endpoint, kvTokens, nowMs);
  }
}
