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
    return this.envoy.stats("^wasmcustom\\.smetric_in_flight");
  }

  /** Waits until no request is open according to the filter's gauges. */
  async nothingInFlight(): Promise<void> {
    await until("the filter has nothing in flight", async () => {
      const gauges = Object.values(await this.inFlight());
      return gauges.length > 0 && gauges.every((value) => value === 0);
    });
  }
}

/** Starts endpoints and an Envoy (pin.yaml unless told otherwise) on free ports. */
export async function startFleet(test: TestContext, options: FleetOptions = {}): Promise<Fleet> {
  const { size = 4, answer, edit, ...envoyOptions } = options;
  const endpoints = await Promise.all(Array.from({ length: size }, () => new Endpoint().start()));
  if (answer !== undefined) for (const endpoint of endpoints) endpoint.answer = answer;
  test.after(() => Promise.all(endpoints.map((endpoint) => endpoint.stop())));
  const { bootstrap = "pin" } = options;
  const envoy = await startEnvoy({
    ...(bootstrap === "baseline" ? {} : { wasm: await buildFilter() }),
    ...envoyOptions,
    edit: (tree) => {
      patientHealthChecks(tree);
      edit?.(tree);
    },
    bootstrap: locate(bootstrap),
    endpoints: endpoints.map((endpoint) => endpoint.address),
  });
  test.after(() => envoy.stop());
  return new Fleet(envoy, endpoints);
}

/**
 * Endpoints, clients and the test share one process: that it is busy says nothing of an endpoint. A sick one answers
 * 503, a dead one refuses connections, and neither takes time.
 */
const patientHealthChecks = editClusters((cluster) => {
  for (const check of (cluster["health_checks"] ?? []) as Record<string, unknown>[]) {
    check["timeout"] = "60s";
  }
});

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

const OUTCOMES = "wasmcustom.smetric_streams.outcome.";
const STREAMS = "http.llm.downstream_rq_";
/** Some streams never reach the filter: those behind a buffer filter, and those of a worker that trapped. */
const QUIET_MS = 1_000;

/**
 * Waits until the filter has counted every stream that has ended, and so has given all that it counted of them: each
 * worker does with a tick of its own, however late that comes. Where the numbers never meet, until they stand still.
 */
export async function countsAreGiven(fleet: Fleet): Promise<void> {
  let earlier = "";
  let changedMs = performance.now();
  await until("all streams are counted", async () => {
    const [counted, all] = await Promise.all([
      fleet.envoy.stats(`^${OUTCOMES.replaceAll(".", "\\.")}`),
      fleet.envoy.stats(`^${STREAMS.replaceAll(".", "\\.")}(total|active)$`),
    ]);
    const ended = (all[`${STREAMS}total`] ?? 0) - (all[`${STREAMS}active`] ?? 0);
    const now = JSON.stringify([counted, all]);
    if (now !== earlier) changedMs = performance.now();
    earlier = now;
    const sum = Object.values(counted).reduce((total, count) => total + count, 0);
    return sum >= ended || performance.now() - changedMs > QUIET_MS;
  });
}

/** Streams that the filter has counted, by outcome. */
export async function outcomes(fleet: Fleet): Promise<Record<string, number>> {
  await countsAreGiven(fleet);
  const stats = await fleet.envoy.stats(`^${OUTCOMES.replaceAll(".", "\\.")}`);
  return Object.fromEntries(
    Object.entries(stats).map(([name, count]) => [name.slice(OUTCOMES.length), count]),
  );
}

/** Far longer than anything takes: what is waited for comes, or the test fails. */
const PATIENCE_MS = 60_000;

/** Polls until `probe` answers true. */
export async function until(what: string, probe: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  while (!(await probe())) {
    if (performance.now() > deadline) throw new Error(`waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
