// SPDX-License-Identifier: Apache-2.0
// A real Envoy with the filter in front of recording endpoints, stopped when the test ends.
import type { TestContext } from "node:test";
import { buildFilter } from "../../../cli/build.ts";
import { startEnvoy, type EnvoyOptions, type RunningEnvoy } from "../../../envoy/launcher.ts";
import type { Bootstrap, Cluster } from "../../../envoy/bootstrap.ts";
import { Endpoint, type Answer, type Exchange } from "./endpoint.ts";
import { locate } from "./rendered.ts";

export interface FleetOptions extends Partial<Omit<EnvoyOptions, "endpoints">> {
  size?: number;
  answer?: Answer;
}

export class Fleet {
  constructor(
    readonly envoy: RunningEnvoy,
    readonly endpoints: Endpoint[],
  ) {}

  /** Everything that reached any endpoint. */
  get exchanges(): Exchange[] {
    return this.endpoints.flatMap((endpoint) => endpoint.exchanges);
  }

  endpointAt(address: string): Endpoint {
    const found = this.endpoints.find((endpoint) => endpoint.address === address);
    if (found === undefined) throw new Error(`no endpoint at ${address}`);
    return found;
  }

  /** How many requests each endpoint got, in the order of the endpoints. */
  counts(since = 0): number[] {
    return this.endpoints.map((endpoint) => endpoint.exchanges.length - since);
  }

  /** Requests that are open according to the filter's gauges, one a slot. */
  async inFlight(): Promise<Record<string, number>> {
    await countsAreGiven();
    return this.envoy.stats("^wasmcustom\\.smetric_(in_?flight)");
  }
}

/** Starts endpoints and an Envoy (pin.yaml unless told otherwise) on free ports. */
export async function startFleet(test: TestContext, options: FleetOptions = {}): Promise<Fleet> {
  const { size = 4, answer, ...envoyOptions } = options;
  const endpoints = await Promise.all(Array.from({ length: size }, () => new Endpoint().start()));
  if (answer !== undefined) for (const endpoint of endpoints) endpoint.answer = answer;
  test.after(() => Promise.all(endpoints.map((endpoint) => endpoint.stop())));
  const { bootstrap = "pin" } = options;
  const envoy = await startEnvoy({
    ...(bootstrap === "baseline" ? {} : { wasm: await buildFilter() }),
    ...envoyOptions,
    bootstrap: locate(bootstrap),
    endpoints: endpoints.map((endpoint) => endpoint.address),
  });
  test.after(() => envoy.stop());
  return new Fleet(envoy, endpoints);
}

/** Changes every cluster of a bootstrap. */
export function editClusters(change: (cluster: Cluster) => void): (bootstrap: Bootstrap) => void {
  return (bootstrap) => bootstrap.static_resources.clusters.forEach(change);
}

/** Health checks that notice within a fraction of a second, so that tests need not wait. */
export const quickHealthChecks = editClusters((cluster) => {
  const [check] = (cluster["health_checks"] ?? []) as Record<string, unknown>[];
  Object.assign(check ?? {}, {
    interval: "0.1s",
    no_traffic_interval: "0.1s",
    unhealthy_threshold: 1,
  });
});

/** Longer than two ticks of the filter: what its workers have counted is in Envoy's stats then. */
export async function countsAreGiven(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 120));
}

/** Streams that the filter has counted, by outcome. */
export async function outcomes(fleet: Fleet): Promise<Record<string, number>> {
  await countsAreGiven();
  const prefix = "wasmcustom.smetric_streams.outcome.";
  const stats = await fleet.envoy.stats(`^${prefix.replaceAll(".", "\\.")}`);
  return Object.fromEntries(
    Object.entries(stats).map(([name, count]) => [name.slice(prefix.length), count]),
  );
}

/** Polls until `probe` answers true. */
export async function until(what: string, probe: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 20_000;
  while (!(await probe())) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
