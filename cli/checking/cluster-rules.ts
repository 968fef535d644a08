// SPDX-License-Identifier: Apache-2.0
// Rules about clusters and retries: breakers, health checks, load balancing, one cluster and not two.
import { type Chain, clusterNames, ENDPOINT_HEADER } from "./chain.ts";
import { error, type Finding, warning } from "./finding.ts";
import { at, findNodes, type Node, nodesAt, numberAt, textAt } from "./node.ts";

/** Envoy's thresholds where none are set. */
export const DEFAULT_BREAKERS = {
  max_connections: 1024,
  max_pending_requests: 1024,
  max_requests: 1024,
  max_retries: 3,
};

/** Names of the load balancing policies of a cluster, however they are written. */
function balancers(cluster: Node): string[] {
  const policies = nodesAt(cluster, "load_balancing_policy.policies").map((policy) =>
    textAt(policy, "typed_extension_config.name").replace("envoy.load_balancing_policies.", ""),
  );
  return policies.length > 0
    ? policies
    : [textAt(cluster, "lb_policy").toLowerCase() || "round_robin"];
}

/** What is said of a breaker that opens early. */
export function breakerWarning(where: string, name: string, allowed: number): Finding {
  return warning(where, `${name} is ${allowed}: a busy fleet gets 503s`);
}

function checkBreakers(cluster: Node, where: string): Finding[] {
  const [threshold] = nodesAt(cluster, "circuit_breakers.thresholds");
  return Object.entries(DEFAULT_BREAKERS).flatMap(([name, most]) => {
    const allowed = numberAt(threshold, name) ?? most;
    if (allowed > most) return [];
    return [breakerWarning(where, `circuit breaker ${name}`, allowed)];
  });
}

function checkHealth(cluster: Node, where: string): Finding[] {
  const checks = nodesAt(cluster, "health_checks");
  return checks
    .filter((check) => check["no_traffic_interval"] === undefined)
    .map(() =>
      warning(where, "no_traffic_interval is not set: an idle cluster is checked once a minute"),
    );
}

function checkBalancing(cluster: Node, where: string, { options }: Chain): Finding[] {
  const used = balancers(cluster);
  if (options.steering === "hash") return [];
  if (options.steering === "override-host") {
    const reads = findNodes(cluster, (node) => node["header"] === ENDPOINT_HEADER).length > 0;
    return used.includes("override_host") && reads
      ? []
      : [
          error(
            where,
            `steering is override-host, but no override_host policy reads ${ENDPOINT_HEADER}`,
          ),
        ];
  }
  if (!used.includes("least_request")) {
    const message = `load balancing is ${used.join(", ")}: first turns are spread best by least_request`;
    return [warning(where, message)];
  }
  const scans = findNodes(cluster, (node) => node["selection_method"] === "FULL_SCAN").length > 0;
  if (scans) return [];
  const message =
    "least_request looks at two random endpoints; selection_method FULL_SCAN is better up to 64 of them";
  return [warning(where, message)];
}

function checkRetries({ routes }: Chain): Finding[] {
  return routes.flatMap(({ where, route, host }) => {
    if (at(route, "route") === undefined) return [];
    const policy = at(route, "route.retry_policy") ?? at(host, "retry_policy");
    if (policy === undefined) {
      return [warning(where, "no retry_policy: a request whose endpoint has just died fails")];
    }
    const predicates = nodesAt(policy, "retry_host_predicate").map((each) => textAt(each, "name"));
    if (predicates.includes("envoy.retry_host_predicates.previous_hosts")) return [];
    const message =
      "retries lack the predicate previous_hosts: least request picks a dead endpoint again";
    return [warning(where, message)];
  });
}

function endpointsOf(cluster: Node): string {
  const assignment =
    at(cluster, "load_assignment.endpoints") ?? at(cluster, "eds_cluster_config.service_name");
  return JSON.stringify(assignment ?? textAt(cluster, "name"));
}

function checkOneCluster({ clusters, options, where }: Chain): Finding[] {
  if (options.steering === "hash") return [];
  const seen = new Set(clusters.map(endpointsOf));
  if (seen.size === clusters.length) return [];
  const message = "two clusters have the same endpoints: neither sees the load of the other";
  return [warning(where, message)];
}

function checkHashRoutes({ routes, options, where }: Chain): Finding[] {
  if (options.steering !== "hash" || options.mode !== "route") return [];
  const byTurn = routes.some(({ route }) =>
    nodesAt(route, "match.headers").some((header) => header["name"] === "x-smetric-turn"),
  );
  const bySession = routes.some(({ route }) =>
    nodesAt(route, "route.hash_policy").some(
      (policy) => textAt(policy, "header.header_name") === "x-smetric-session",
    ),
  );
  if (byTurn && bySession) return [];
  const message =
    "steering is hash, but no route splits on x-smetric-turn and hashes on x-smetric-session";
  return [error(where, message)];
}

/** All rules about routes and clusters. */
export function checkClusters(chain: Chain): Finding[] {
  const perCluster = chain.clusters.flatMap((cluster) => {
    const where = `cluster ${textAt(cluster, "name")}`;
    return [
      ...checkBreakers(cluster, where),
      ...checkHealth(cluster, where),
      ...checkBalancing(cluster, where, chain),
    ];
  });
  const missing = chain.routes.flatMap(({ where, route }) =>
    clusterNames(route)
      .filter((name) => !chain.clusters.some((cluster) => textAt(cluster, "name") === name))
      .map((name) => warning(where, `cluster ${name} is not in this file and was not checked`)),
  );
  const perChain = [checkRetries, checkOneCluster, checkHashRoutes].flatMap((rule) => rule(chain));
  return [...perCluster, ...missing, ...perChain];
}
