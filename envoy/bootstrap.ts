// SPDX-License-Identifier: Apache-2.0
// Reads a bootstrap file of this folder and puts addresses, module and configuration in their places.
import { existsSync, readFileSync } from "node:fs";
import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { parse } from "yaml";
import { Failure } from "../cli/failure.ts";
import { fromRoot } from "../cli/paths.ts";

export interface Address {
  socket_address: { address: string; port_value: number };
}

export interface HttpFilter {
  name: string;
  typed_config: { "@type": string; config?: WasmPlugin; [field: string]: unknown };
}

export interface WasmPlugin {
  name: string;
  configuration: { "@type": string; value: string };
  vm_config: { code: { local: { filename: string } }; [field: string]: unknown };
  [field: string]: unknown;
}

export interface ConnectionManager {
  http_filters: HttpFilter[];
  [field: string]: unknown;
}

export interface Listener {
  name: string;
  address: Address;
  filter_chains: { filters: { name: string; typed_config: ConnectionManager }[] }[];
  [field: string]: unknown;
}

export interface Cluster {
  name: string;
  type: string;
  load_balancing_policy: { policies: { typed_extension_config: { name: string } }[] };
  load_assignment: {
    cluster_name: string;
    endpoints: { lb_endpoints: { endpoint: { address: Address } }[] }[];
  };
  [field: string]: unknown;
}

/** The part of a bootstrap file that the launcher and its users touch; every other field is kept as it is. */
export interface Bootstrap {
  admin: { address: Address };
  static_resources: { listeners: Listener[]; clusters: Cluster[] };
  [field: string]: unknown;
}

export type Balancing = "least_request" | "round_robin" | "ring_hash";

export interface BootstrapOptions {
  /** `pin`, `hash`, `baseline`, ... (a file of this folder), or the path of a bootstrap file. */
  bootstrap: string;
  /** Endpoints as `ip:port`, of all clusters or by cluster name. */
  endpoints: string[] | Record<string, string[]>;
  /** Fields of the filter's configuration, over those of the file. */
  configuration?: object;
  /** The module; without it `build/smetric.wasm`. */
  wasm?: string;
  /** The policy of baseline.yaml to put on top. */
  balancing?: Balancing;
  /** Port on 127.0.0.1, 0 (the default) for a free one. */
  listenPort?: number;
  /** Last changes to the loaded file. */
  edit?: (bootstrap: Bootstrap) => void;
}

/** The file behind a bootstrap's name. */
function bootstrapFile(name: string): string {
  if (isAbsolute(name) || name.endsWith(".yaml")) return name;
  return fromRoot("envoy", `${name}.yaml`);
}

/**
 * Loads the very file that users deploy and changes only what depends on the machine.
 * @throws Failure when the file or the module is missing
 */
export function loadBootstrap(options: BootstrapOptions): Bootstrap {
  const file = bootstrapFile(options.bootstrap);
  if (!existsSync(file)) throw new Failure(`bootstrap file ${file} does not exist`);
  const bootstrap = parse(readFileSync(file, "utf8")) as Bootstrap;
  bootstrap.admin.address = localAddress(0);
  const { listenPort = 0 } = options;
  bootstrap.static_resources.listeners.forEach((listener, index) => {
    listener.address = localAddress(index === 0 ? listenPort : 0);
    // A second Envoy on the same port would silently take half of its connections.
    if (listenPort !== 0) listener["enable_reuse_port"] = false;
  });
  for (const cluster of bootstrap.static_resources.clusters) {
    setEndpoints(cluster, endpointsOf(options.endpoints, cluster.name));
    if (options.balancing !== undefined) putOnTop(cluster, options.balancing);
  }
  for (const plugin of wasmPlugins(bootstrap)) setPlugin(plugin, options);
  options.edit?.(bootstrap);
  return bootstrap;
}

/** The connection managers of all listeners, one a filter chain. */
export function connectionManagers(bootstrap: Bootstrap): ConnectionManager[] {
  return bootstrap.static_resources.listeners
    .flatMap((listener) => listener.filter_chains)
    .flatMap((chain) => chain.filters)
    .map((filter) => filter.typed_config);
}

/** The configurations of the Wasm filters of all listeners. */
export function wasmPlugins(bootstrap: Bootstrap): WasmPlugin[] {
  return connectionManagers(bootstrap)
    .flatMap((manager) => manager.http_filters)
    .filter((filter) => filter.typed_config["@type"].endsWith(".wasm.v3.Wasm"))
    .flatMap((filter) => filter.typed_config.config ?? []);
}

function localAddress(port: number): Address {
  return { socket_address: { address: "127.0.0.1", port_value: port } };
}

function parseAddress(text: string): Address {
  const colon = text.lastIndexOf(":");
  const port = Number(text.slice(colon + 1));
  if (colon <= 0 || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new Failure(`endpoint ${JSON.stringify(text)} is not an address like 127.0.0.1:8000`);
  }
  const address = text.slice(0, colon).replace(/^\[(.*)\]$/, "$1");
  return { socket_address: { address, port_value: port } };
}

function endpointsOf(endpoints: BootstrapOptions["endpoints"], cluster: string): string[] {
  if (Array.isArray(endpoints)) return endpoints;
  const own = endpoints[cluster];
  if (own === undefined) throw new Failure(`no endpoints are given for cluster ${cluster}`);
  return own;
}

function setEndpoints(cluster: Cluster, endpoints: string[]): void {
  const addresses = endpoints.map((endpoint) => ({
    endpoint: { address: parseAddress(endpoint) },
  }));
  cluster.load_assignment.endpoints = [{ lb_endpoints: addresses }];
  // Nothing to resolve: all endpoints are known, and checked once, before Envoy says that it is ready.
  if (addresses.every(({ endpoint }) => isIP(endpoint.address.socket_address.address))) {
    cluster.type = "STATIC";
  }
}

function putOnTop(cluster: Cluster, balancing: Balancing): void {
  const { policies } = cluster.load_balancing_policy;
  const name = `envoy.load_balancing_policies.${balancing}`;
  const index = policies.findIndex((policy) => policy.typed_extension_config.name === name);
  if (index < 0) throw new Failure(`cluster ${cluster.name} offers no ${balancing}`);
  policies.unshift(...policies.splice(index, 1));
}

function setPlugin(plugin: WasmPlugin, options: BootstrapOptions): void {
  const filename = options.wasm ?? fromRoot("build", "smetric.wasm");
  if (!existsSync(filename))
    throw new Failure(`the filter ${filename} is missing: run \`npm run build\``);
  plugin.vm_config.code.local.filename = filename;
  const own = JSON.parse(plugin.configuration.value) as object;
  plugin.configuration.value = JSON.stringify({ ...own, ...options.configuration });
}
