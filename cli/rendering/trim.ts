// SPDX-License-Identifier: Apache-2.0
// Keeps of a rendering what lies on the way of a request through the filter, and nothing that differs from run to run.

interface HttpFilter {
  name: string;
  config_discovery?: object;
  typed_config?: { "@type"?: string };
}

export interface RenderedManager {
  http_filters?: HttpFilter[];
  rds?: { route_config_name: string };
}

interface FilterChain {
  filters: { typed_config: RenderedManager }[];
}

export interface RenderedListener {
  name: string;
  filter_chains?: FilterChain[];
  default_filter_chain?: FilterChain;
}

/** All that an Envoy asks its control plane for. */
export interface Rendered {
  listeners: RenderedListener[];
  routes: { name: string }[];
  clusters: { name: string }[];
  endpoints: { cluster_name: string }[];
  extensions: { name: string }[] | null;
  /** What the Envoy is started with, where manifests can change it. */
  bootstrap?: Record<string, unknown>;
}

/** Parts that say who configured what, or only tell stories about requests. */
const LEFT_OUT = ["metadata", "tracing", "decorator"];

/** The connection managers of a listener. */
function managersOf(listener: RenderedListener): RenderedManager[] {
  const chains = [...(listener.filter_chains ?? []), listener.default_filter_chain];
  return chains
    .flatMap((chain) => chain?.filters ?? [])
    .map((filter) => filter.typed_config)
    .filter((config) => config.http_filters !== undefined);
}

function isOurs({ config_discovery, typed_config }: HttpFilter): boolean {
  return config_discovery !== undefined || (typed_config?.["@type"] ?? "").endsWith("wasm.v3.Wasm");
}

function namesIn(value: unknown, key: string): string[] {
  const found: string[] = [];
  JSON.stringify(value, (name, inner: unknown) => {
    if (name === key && typeof inner === "string") found.push(inner);
    return inner;
  });
  return found;
}

function settle(this: unknown, key: string, value: unknown): unknown {
  if (LEFT_OUT.includes(key)) return undefined;
  if (key === "filename" && String(value).endsWith(".wasm")) return "/etc/envoy/smetric.wasm";
  // Both change with every build of the module.
  if (key === "uri" && typeof value === "string")
    return value.replace(/[^/]+\.wasm$/, "smetric.wasm");
  if (key === "sha256") return "0".repeat(64);
  return value;
}

/** What is left of a rendering. */
export function trim(rendered: Rendered): Rendered {
  const listeners = rendered.listeners.filter((listener) =>
    managersOf(listener).some((manager) => manager.http_filters?.some(isOurs)),
  );
  const routeNames = namesIn(listeners, "route_config_name");
  const routes = rendered.routes.filter(({ name }) => routeNames.includes(name));
  const clusterNames = namesIn(routes, "cluster");
  const endpoints = rendered.endpoints.filter((entry) => clusterNames.includes(entry.cluster_name));
  const withEndpoints = endpoints.map((entry) => entry.cluster_name);
  const clusters = rendered.clusters.filter(({ name }) => withEndpoints.includes(name));
  const kept: Rendered = {
    listeners,
    routes,
    clusters,
    endpoints,
    extensions: rendered.extensions ?? [],
  };
  const tags = rendered.bootstrap?.["stats_config"];
  if (tags !== undefined) kept.bootstrap = { stats_config: tags };
  return JSON.parse(JSON.stringify(kept, settle)) as Rendered;
}
