// SPDX-License-Identifier: Apache-2.0
// Many mock GPUs in one process, on one clock, with a shared tier or with prefill and decode pools.
import { Cluster } from "../engine/cluster.ts";
import { Disaggregation } from "../engine/disaggregation.ts";
import { Engine } from "../engine/engine.ts";
import { KvTier } from "../engine/kv-tier.ts";
import { resolveOptions } from "../engine/options.ts";
import { type Backend, engineBackend, prefillBackend } from "./backend.ts";
import { engineOptionsOf } from "./gpu.ts";
import { GpuServer, type MockGpu, type MockGpuOptions } from "./server.ts";
import { WallClock } from "./wall-clock.ts";

export interface MockFleetOptions extends Omit<MockGpuOptions, "port"> {
  /** Endpoints; in a disaggregated fleet those that prefill. */
  count: number;
  /** Ports, one per endpoint; default: free ones. */
  ports?: number[];
  /** Tokens of a KV tier that all endpoints share; 0 = none. */
  globalTokens?: number;
  /** 10^9 bytes a second of that tier, for all endpoints together. */
  globalGbPerS?: number;
  /** Tokens of host memory per endpoint, and its link; 0 = none. */
  hostTokens?: number;
  hostGbPerS?: number;
  /** Engines behind the endpoints that decode what those have prefilled; 0 = each endpoint does both. */
  decodeEngines?: number;
  /** 10^9 bytes a second that leave one prefill endpoint. */
  transferGbPerS?: number;
}

export interface MockFleet {
  gpus: MockGpu[];
  cluster: Cluster;
  close(): Promise<void>;
}

const DEFAULT_GLOBAL_GB_PER_S = 25;
/** PCIe 5 x16, what is left of it. */
const DEFAULT_HOST_GB_PER_S = 40;
const DEFAULT_TRANSFER_GB_PER_S = 100;

/** Starts a fleet and answers when every endpoint listens. */
export async function startMockFleet(options: MockFleetOptions): Promise<MockFleet> {
  const cluster = new Cluster(buildEngines(options));
  const clock = new WallClock(cluster, options.speedup, options.wallMs);
  const backends = buildBackends(options, cluster);
  const servers = backends.map((backend) => new GpuServer(options, backend, clock));
  await Promise.all(servers.map((server, i) => server.listen(options.ports?.[i] ?? 0)));
  return {
    gpus: servers,
    cluster,
    close: async () => {
      clock.close();
      await Promise.all(servers.map((server) => server.close()));
    },
  };
}

/** The engines of a fleet, without clock or sockets: also what a replay in virtual time needs. */
function buildEngines(given: Omit<MockFleetOptions, "ports">): Engine[] {
  const options = engineOptionsOf(given);
  const { blockTokens, kvBytesPerToken } = resolveOptions({ ...options, retention: undefined });
  const shape = { blockTokens, bytesPerToken: kvBytesPerToken };
  const global =
    (options.globalTokens ?? 0) > 0
      ? new KvTier({
          name: "global",
          capacityTokens: options.globalTokens ?? 0,
          readGbPerS: options.globalGbPerS ?? DEFAULT_GLOBAL_GB_PER_S,
          ...shape,
        })
      : null;
  const engines: Engine[] = [];
  for (let i = 0; i < options.count; i++) {
    const tiers = [...(options.tiers ?? [])];
    if ((options.hostTokens ?? 0) > 0) {
      tiers.push(
        new KvTier({
          name: "host",
          capacityTokens: options.hostTokens ?? 0,
          readGbPerS: options.hostGbPerS ?? DEFAULT_HOST_GB_PER_S,
          ...shape,
        }),
      );
    }
    if (global !== null) tiers.push(global);
    engines.push(new Engine({ ...options, tiers }));
  }
  for (let i = 0; i < (options.decodeEngines ?? 0); i++) {
    engines.push(new Engine({ ...options, tiers: [], retention: undefined }));
  }
  return engines;
}

function buildBackends(options: MockFleetOptions, cluster: Cluster): Backend[] {
  const decode = options.decodeEngines ?? 0;
  const indices = Array.from({ length: options.count }, (_, i) => i);
  if (decode === 0) return indices.map((i) => engineBackend(cluster, i));
  const pools = new Disaggregation(cluster, {
    prefill: options.count,
    decode,
    transferGbPerS: options.transferGbPerS ?? DEFAULT_TRANSFER_GB_PER_S,
  });
  return indices.map((i) => prefillBackend(cluster, pools, i));
}
