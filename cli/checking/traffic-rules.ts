// SPDX-License-Identifier: Apache-2.0
// Rules about the objects that lead traffic to the engines: limits, timeouts, breakers and balancing of Istio's and Envoy
// Gateway's.
import { breakerWarning, DEFAULT_BREAKERS } from "./cluster-rules.ts";
import { type Finding, warning } from "./finding.ts";
import { cutsShort, DEFAULT_ROUTE_TIMEOUT_MS, isShort } from "./limit-rules.ts";
import { at, type Node, nodesAt, numberAt, textAt } from "./node.ts";
import { readCheckedOptions } from "./options-check.ts";

/** Longest body that the filter holds unless it is told otherwise. */
const HOLD_CAP_BYTES = readCheckedOptions({}).holdCapBytes;

const UNIT_BYTES: Record<string, number> = {
  ...{ "": 1, k: 1e3, M: 1e6, G: 1e9 },
  ...{ Ki: 1 << 10, Mi: 1 << 20, Gi: 1 << 30 },
};

/** Bytes of a Kubernetes quantity (`16Mi`), undefined where there is none. */
function bytesAt(manifest: Node, path: string): number | undefined {
  const [, digits = "", unit = ""] = /^(\d+)([kMG]i?|Ki)?$/.exec(String(at(manifest, path))) ?? [];
  const factor = UNIT_BYTES[unit];
  return digits === "" || factor === undefined ? undefined : Number(digits) * factor;
}

const UNIT_MS: Record<string, number> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 };

/** Milliseconds of a duration as Go and so Kubernetes write it (`1h30m`), undefined where there is none. */
function goDurationMsAt(node: Node, path: string): number | undefined {
  const parts = [...textAt(node, path).matchAll(/(\d+(?:\.\d+)?)(ms|h|m|s)/g)];
  if (parts.length === 0) return undefined;
  return parts.reduce((sum, [, digits, unit = ""]) => sum + Number(digits) * UNIT_MS[unit]!, 0);
}

/** ClientTrafficPolicy: Envoy Gateway's limits of a body are a fiftieth of an agent's request. */
export function checkClientTraffic(manifest: Node, where: string): Finding[] {
  const limits = [
    { path: "spec.connection.bufferLimit", otherwise: "32 KiB" },
    { path: "spec.http2.initialStreamWindowSize", otherwise: "64 KiB" },
  ];
  const findings = limits
    .filter(({ path }) => (bytesAt(manifest, path) ?? 0) < HOLD_CAP_BYTES)
    .map(({ path, otherwise }) => {
      const name = path.replace("spec.", "");
      const is = at(manifest, path) === undefined ? `not set (${otherwise})` : "too small";
      const message = `${name} is ${is}: bodies that are longer, up to hold_cap_bytes, are released before their end`;
      return warning(where, message);
    });
  if (textAt(manifest, "spec.timeout.http.streamIdleTimeout") !== "") return findings;
  const message =
    "timeout.http.streamIdleTimeout is not set: after five minutes without a byte a long prefill is cut";
  return [...findings, warning(where, message)];
}

/** Envoy Gateway's names of the thresholds, and what they are where none are set. */
const BREAKERS: readonly [name: string, most: number][] = [
  ["maxConnections", DEFAULT_BREAKERS.max_connections],
  ["maxPendingRequests", DEFAULT_BREAKERS.max_pending_requests],
  ["maxParallelRequests", DEFAULT_BREAKERS.max_requests],
];

/** BackendTrafficPolicy: what a busy fleet of engines needs of its cluster. */
export function checkBackendTraffic(manifest: Node, where: string): Finding[] {
  const findings: Finding[] = [];
  for (const [name, most] of BREAKERS) {
    const allowed = numberAt(manifest, `spec.circuitBreaker.${name}`) ?? most;
    if (allowed <= most) findings.push(breakerWarning(where, `circuitBreaker.${name}`, allowed));
  }
  if (at(manifest, "spec.retry") === undefined) {
    findings.push(warning(where, "no retry: a request whose endpoint has just died fails"));
  }
  const timeoutMs = goDurationMsAt(manifest, "spec.timeout.http.requestTimeout");
  if (timeoutMs !== undefined && isShort(timeoutMs)) {
    const message = `${cutsShort("timeout.http.requestTimeout", timeoutMs)}; 0s switches it off`;
    findings.push(warning(where, message));
  }
  const balancing = textAt(manifest, "spec.loadBalancer.type");
  if (balancing !== "" && balancing !== "LeastRequest") {
    const message = `loadBalancer.type is ${balancing}: first turns are spread best by LeastRequest`;
    findings.push(warning(where, message));
  }
  return findings;
}

/** HTTPRoute: without a timeout of its own, or of a policy beside it, Envoy's 15 s count. */
export function checkHttpRoute(manifest: Node, where: string, all: Node[]): Finding[] {
  const policies = all.filter(({ kind }) => kind === "BackendTrafficPolicy");
  const given = policies.map((each) => goDurationMsAt(each, "spec.timeout.http.requestTimeout"));
  const otherwise = given.find((timeoutMs) => timeoutMs !== undefined) ?? DEFAULT_ROUTE_TIMEOUT_MS;
  return nodesAt(manifest, "spec.rules")
    .map((rule) => goDurationMsAt(rule, "timeouts.request") ?? otherwise)
    .filter(isShort)
    .map((timeoutMs) =>
      warning(where, `${cutsShort("timeouts.request", timeoutMs)}; 0s switches it off`),
    );
}

/** DestinationRule: a subset is a cluster of its own. */
export function checkDestinationRule(manifest: Node, where: string, all: Node[]): Finding[] {
  const findings: Finding[] = [];
  const hashes = all.some((each) => /steering[\\"': ]+hash/.test(JSON.stringify(each)));
  if (nodesAt(manifest, "spec.subsets").length > 0 && !hashes) {
    const message =
      "subsets are clusters of their own: neither sees the load of the other (only steering hash uses them)";
    findings.push(warning(where, message));
  }
  const simple = textAt(manifest, "spec.trafficPolicy.loadBalancer.simple");
  if (["RANDOM", "ROUND_ROBIN", "PASSTHROUGH"].includes(simple)) {
    const message = `loadBalancer.simple is ${simple}: first turns are spread best by LEAST_REQUEST`;
    findings.push(warning(where, message));
  }
  return findings;
}

/** VirtualService: Istio has no timeout of its own, so a short one was meant for something else than generations. */
export function checkRouteTimeout(manifest: Node, where: string): Finding[] {
  return nodesAt(manifest, "spec.http")
    .map((route) => goDurationMsAt(route, "timeout") ?? 0)
    .filter(isShort)
    .map((timeoutMs) => warning(where, cutsShort("timeout", timeoutMs)));
}
