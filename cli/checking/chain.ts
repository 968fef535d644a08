// SPDX-License-Identifier: Apache-2.0
// Finds, in an Envoy bootstrap or configuration dump, every HTTP chain that holds the filter.
import { type Finding, error } from "./finding.ts";
import { at, findNodes, isType, type Node, nodesAt, textAt } from "./node.ts";
import { type CheckedOptions, checkOptions, readCheckedOptions } from "./options-check.ts";

/** The response header that names an endpoint, and the request header that pins to one. */
export const ENDPOINT_HEADER = "x-smetric-endpoint";

export interface Chain {
  where: string;
  listener: Node;
  manager: Node;
  /** HTTP filters in order. */
  filters: Node[];
  /** Position of the filter among them. */
  position: number;
  /** The filter's PluginConfig. */
  plugin: Node;
  options: CheckedOptions;
  /** Routes of the chain, of all virtual hosts. */
  routes: { where: string; host: Node; route: Node }[];
  /** Clusters that those routes lead to. */
  clusters: Node[];
}

/** What was found, and the faults of configurations that could not be read. */
export interface Chains {
  chains: Chain[];
  findings: Finding[];
}

/** The module is told by its name or its root id: any other Wasm filter is none of our business. */
export function isOurs(filter: Node): boolean {
  if (!isType(filter["typed_config"], "Wasm")) return false;
  const plugin = at(filter, "typed_config.config");
  const code = JSON.stringify(at(plugin, "vm_config.code") ?? "");
  return [textAt(plugin, "name"), textAt(plugin, "root_id"), code].some((text) =>
    text.includes("smetric"),
  );
}

/** `configuration` is a StringValue with JSON text, or a Struct. */
function parseConfiguration(plugin: Node): unknown {
  const given = plugin["configuration"];
  if (given === undefined) return {};
  if (!isType(given, "StringValue")) return at(given, "value") ?? {};
  const text = textAt(given, "value");
  return text.trim() === "" ? {} : (JSON.parse(text) as unknown);
}

function routesOf(manager: Node, tree: unknown, where: string): Chain["routes"] {
  const name = textAt(manager, "rds.route_config_name");
  const inline = at(manager, "route_config");
  const configurations =
    inline !== undefined
      ? [inline]
      : findNodes(tree, (node) => Array.isArray(node["virtual_hosts"]) && node["name"] === name);
  return configurations.flatMap((configuration) =>
    nodesAt(configuration, "virtual_hosts").flatMap((host) =>
      nodesAt(host, "routes").map((route, index) => ({
        where: `${where}, ${textAt(host, "name")} route ${index + 1}`,
        host,
        route,
      })),
    ),
  );
}

/** Names of the clusters behind a route. */
export function clusterNames(route: Node): string[] {
  const weighted = nodesAt(route, "route.weighted_clusters.clusters");
  return [textAt(route, "route.cluster"), ...weighted.map((each) => textAt(each, "name"))].filter(
    (name) => name !== "",
  );
}

function isCluster(node: Node): boolean {
  if (typeof node["name"] !== "string") return false;
  const marks = ["load_assignment", "eds_cluster_config", "cluster_type"];
  return marks.some((mark) => mark in node) || ("connect_timeout" in node && "type" in node);
}

function readChain(listener: Node, manager: Node, tree: unknown, found: Chains): void {
  const filters = nodesAt(manager, "http_filters");
  const position = filters.findIndex(isOurs);
  const filter = filters[position];
  if (filter === undefined) return;
  const where = `listener ${textAt(listener, "name") || "without a name"}`;
  const plugin = at(filter, "typed_config.config") as Node;
  let configuration: unknown;
  try {
    configuration = parseConfiguration(plugin);
  } catch {
    found.findings.push(error(where, "the filter's configuration is not valid JSON"));
    return;
  }
  found.findings.push(...checkOptions(configuration, where));
  const routes = routesOf(manager, tree, where);
  const names = new Set(routes.flatMap(({ route }) => clusterNames(route)));
  found.chains.push({
    where,
    listener,
    manager,
    filters,
    position,
    plugin,
    options: readCheckedOptions(configuration),
    routes,
    clusters: findNodes(tree, isCluster).filter((cluster) => names.has(textAt(cluster, "name"))),
  });
}

/** Every chain with the filter in it. */
export function findChains(tree: unknown): Chains {
  const found: Chains = { chains: [], findings: [] };
  for (const listener of findNodes(tree, (node) => Array.isArray(node["filter_chains"]))) {
    const managers = findNodes(listener, (node) => isType(node, "HttpConnectionManager"));
    for (const manager of managers) readChain(listener, manager, tree, found);
  }
  return found;
}
