// SPDX-License-Identifier: Apache-2.0
// Makes a bootstrap of what a control plane has rendered, for the local Envoy: everything that came by discovery stands in
// the file, the module comes from the disk, and what only Istio's own Envoy or a mesh's certificates can do is left out.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { parse, stringify } from "yaml";
import { fromRoot } from "../../../cli/paths.ts";
import { fixtureOf } from "../../../cli/rendering/render.ts";
import type { Rendered, RenderedListener } from "../../../cli/rendering/trim.ts";

type Node = Record<string, unknown>;

interface Manager extends Node {
  http_filters: Node[];
  rds?: { route_config_name: string };
}

/** Filters that only Istio's build of Envoy has; they tell peers and telemetry who is calling. */
const ISTIO_ONLY = ["istio.metadata_exchange", "istio.alpn", "istio.stats"];

/** Fields of a cluster that need a certificate of the mesh, a service of it, or Istio's Envoy. */
const OF_THE_MESH = ["transport_socket_matches", "filters", "eds_cluster_config"];

const WASM = ".wasm.v3.Wasm";

function moduleFromDisk(plugin: Node): void {
  const vm = plugin["vm_config"] as Node;
  vm["code"] = { local: { filename: "/etc/envoy/smetric.wasm" } };
}

/** The filter with what extension discovery has delivered for it. */
function settled(filter: Node, extensions: Node[]): Node {
  const { config_discovery: discovery, ...rest } = filter;
  const found = extensions.find(({ name }) => name === filter["name"]);
  const typed = (discovery === undefined ? filter["typed_config"] : found?.["typed_config"]) as {
    "@type": string;
    config: Node;
  };
  if (typed["@type"].endsWith(WASM)) moduleFromDisk(typed.config);
  return { ...rest, typed_config: typed };
}

function settleManager(manager: Manager, rendered: Rendered): void {
  const table = rendered.routes.find(({ name }) => name === manager.rds?.route_config_name);
  delete manager.rds;
  manager["route_config"] = withoutOtherHosts(table as unknown as Node);
  manager["stat_prefix"] = "llm";
  manager.http_filters = manager.http_filters
    .filter(({ name }) => !ISTIO_ONLY.includes(String(name)))
    .map((filter) => settled(filter, (rendered.extensions ?? []) as unknown as Node[]));
}

/** A sidecar knows the engines by name; the tests call an address. */
function withoutOtherHosts(table: Node): Node {
  const [engines] = table["virtual_hosts"] as Node[];
  return { ...table, virtual_hosts: [{ ...engines, domains: ["*"] }] };
}

function settleListener(listener: RenderedListener, rendered: Rendered): Node {
  const { default_filter_chain: fallback, filter_chains: chains = [], ...rest } = listener;
  const ofHttp = [...chains, ...(fallback === undefined ? [] : [fallback])].filter((chain) =>
    chain.filters.some(({ typed_config }) => typed_config.http_filters !== undefined),
  );
  for (const { typed_config } of ofHttp.flatMap(({ filters }) => filters)) {
    settleManager(typed_config as unknown as Manager, rendered);
  }
  return { ...rest, filter_chains: ofHttp, bind_to_port: true };
}

/** Clusters get the names that the files of envoy/ give them in statistics: llm, or llm-first and llm-follow. */
function settleCluster(cluster: Node, rendered: Rendered): Node {
  const name = String(cluster["name"]);
  const subset = /^outbound\|\d+\|([^|]+)\|/.exec(name)?.[1];
  const kept = Object.entries(cluster).filter(([field]) => !OF_THE_MESH.includes(field));
  return {
    ...Object.fromEntries(kept),
    alt_stat_name: subset === undefined ? "llm" : `llm-${subset}`,
    type: "STATIC",
    load_assignment: rendered.endpoints.find(({ cluster_name }) => cluster_name === name),
  };
}

function assemble(rendered: Rendered): Node {
  return {
    ...rendered.bootstrap,
    admin: { address: { socket_address: { address: "127.0.0.1", port_value: 9901 } } },
    static_resources: {
      listeners: rendered.listeners.map((listener) => settleListener(listener, rendered)),
      clusters: rendered.clusters.map((cluster) =>
        settleCluster(cluster as unknown as Node, rendered),
      ),
    },
  };
}

function readRendered(name: string): Rendered {
  return parse(readFileSync(fixtureOf(name), "utf8")) as Rendered;
}

/** What the launcher can load: `rendered/` and a case name become the path of a bootstrap, all else stays as it is. */
export function locate(bootstrap: string): string {
  const [, name] = /^rendered\/(.+)$/.exec(bootstrap) ?? [];
  if (name === undefined) return bootstrap;
  const folder = fromRoot("build", "rendered");
  const file = `${folder}/${name}.${process.pid}.yaml`;
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, stringify(assemble(readRendered(name)), { aliasDuplicateObjects: false }));
  return file;
}
