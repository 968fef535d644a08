// SPDX-License-Identifier: Apache-2.0
// One Envoy of the comparison: plain, or with one Wasm filter, or with several of the same in a row.
import { startEnvoy, type RunningEnvoy } from "../../envoy/launcher.ts";
import { connectionManagers, type Bootstrap, type HttpFilter } from "../../envoy/bootstrap.ts";

export interface GatewayOptions {
  endpoints: string[];
  /** The module; without it neither it nor the filter that obeys it is there. */
  wasm?: string;
  /** How many of the filter are in the chain (default 1). */
  copies?: number;
  configuration?: object;
}

function isWasm(filter: HttpFilter): boolean {
  return filter.typed_config["@type"].endsWith(".wasm.v3.Wasm");
}

/** All copies live in one VM, as the plugins of one Envoy do; each remembers under keys of its own. */
function copyOf(filter: HttpFilter, index: number): HttpFilter {
  const copy = structuredClone(filter);
  const name = `${filter.name}-${index}`;
  copy.name = name;
  const plugin = copy.typed_config.config;
  if (plugin !== undefined) {
    plugin.name = name;
    const configuration = JSON.parse(plugin.configuration.value) as object;
    plugin.configuration.value = JSON.stringify({ ...configuration, hash_seed: name });
  }
  return copy;
}

function chain(filters: HttpFilter[], options: GatewayOptions): HttpFilter[] {
  if (options.wasm === undefined) {
    return filters.filter(({ name }) => name === "envoy.filters.http.router");
  }
  const copies = options.copies ?? 1;
  return filters.flatMap((filter) =>
    isWasm(filter) && copies > 1
      ? Array.from({ length: copies }, (_, index) => copyOf(filter, index))
      : [filter],
  );
}

function edit(bootstrap: Bootstrap, options: GatewayOptions): void {
  for (const manager of connectionManagers(bootstrap)) {
    manager.http_filters = chain(manager.http_filters, options);
  }
  // Nothing but requests may cost CPU time.
  for (const cluster of bootstrap.static_resources.clusters) {
    delete cluster["health_checks"];
    delete cluster["outlier_detection"];
  }
}

/** Starts an Envoy with one worker: the bootstrap that users deploy, less what runs beside the requests. */
export async function startGateway(options: GatewayOptions): Promise<RunningEnvoy> {
  return startEnvoy({
    bootstrap: "pin",
    endpoints: options.endpoints,
    ...(options.wasm === undefined ? {} : { wasm: options.wasm }),
    ...(options.configuration === undefined ? {} : { configuration: options.configuration }),
    concurrency: 1,
    edit: (bootstrap) => edit(bootstrap, options),
  });
}
