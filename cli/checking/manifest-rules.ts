// SPDX-License-Identifier: Apache-2.0
// Rules about Kubernetes manifests: the filter inside Istio's and Envoy Gateway's objects, and bootstraps in ConfigMaps.
import { ENDPOINT_HEADER } from "./chain.ts";
import { checkPatches } from "./envoy-filter-rules.ts";
import { checkPlugin, holdsHeaders } from "./filter-rules.ts";
import { error, type Finding, warning } from "./finding.ts";
import { at, findNodes, isNode, isType, type Node, nodesAt, textAt } from "./node.ts";
import { checkOptions, readCheckedOptions } from "./options-check.ts";
import {
  checkBackendTraffic,
  checkClientTraffic,
  checkDestinationRule,
  checkHttpRoute,
  checkRouteTimeout,
} from "./traffic-rules.ts";

const FLAG = "allow_on_headers_stop_iteration";

export function isManifest(document: unknown): document is Node {
  return isNode(document) && "apiVersion" in document && "kind" in document;
}

/** WasmPlugin: has no field for the header-stop flag. */
function checkWasmPlugin(manifest: Node, where: string): Finding[] {
  const configuration = at(manifest, "spec.pluginConfig") ?? {};
  const findings = checkOptions(configuration, where);
  if (holdsHeaders(readCheckedOptions(configuration))) {
    const message = `a WasmPlugin cannot set ${FLAG}: use mode observe, steering filter-state, or an EnvoyFilter`;
    findings.push(error(where, message));
  }
  const strategy = textAt(manifest, "spec.failStrategy");
  if (strategy !== "FAIL_OPEN" && strategy !== "FAIL_RELOAD") {
    const message =
      "failStrategy is FAIL_CLOSE: without the module, or after a trap, nothing passes";
    findings.push(warning(where, message));
  }
  return findings;
}

/** Whether a patch sets the flag, by its path or inside of a value. */
function setsFlag(node: Node): boolean {
  if (node[FLAG] === true) return true;
  return textAt(node, "path").endsWith(`/${FLAG}`) && node["value"] === true;
}

/** Envoy Gateway's way to obey: an endpoint override that reads the filter's header. */
function checkOverride(steering: string, where: string, all: Node[]): Finding[] {
  const overrides = all
    .filter((each) => each["kind"] === "BackendTrafficPolicy")
    .flatMap((each) => nodesAt(each, "spec.loadBalancer.endpointOverride.extractFrom"));
  if (steering === "pin" && overrides.length > 0) {
    const message = "steering is pin, but an endpointOverride obeys steering override-host only";
    return [error(where, message)];
  }
  const isRead = overrides.some((each) => textAt(each, "header") === ENDPOINT_HEADER);
  if (steering !== "override-host" || isRead) return [];
  const message = `steering is override-host, but no BackendTrafficPolicy in this file reads ${ENDPOINT_HEADER} in its endpointOverride`;
  return [error(where, message)];
}

/** EnvoyExtensionPolicy: an EnvoyPatchPolicy beside it sets the flag, a BackendTrafficPolicy obeys. */
function checkExtensionPolicy(manifest: Node, where: string, all: Node[]): Finding[] {
  const isPatched = all
    .filter((each) => each["kind"] === "EnvoyPatchPolicy")
    .some((each) => findNodes(each, setsFlag).length > 0);
  return nodesAt(manifest, "spec.wasm").flatMap((wasm) => {
    const configuration = wasm["config"] ?? {};
    const options = readCheckedOptions(configuration);
    const findings = checkOptions(configuration, where);
    if (options.mode === "observe" && wasm["failOpen"] !== true) {
      const message =
        "failOpen is not set: a filter that only watches stops all traffic while its module cannot be fetched";
      findings.push(warning(where, message));
    }
    if (options.mode === "route") findings.push(...checkOverride(options.steering, where, all));
    if (!holdsHeaders(options) || isPatched) return findings;
    const message = `no EnvoyPatchPolicy in this file sets ${FLAG}: the filter never sees a body before the headers have gone`;
    return [...findings, error(where, message)];
  });
}

/** The filter as Envoy has it. */
function isPlugin(node: Node): boolean {
  return textAt(node, "root_id") === "smetric" && isNode(node["vm_config"]);
}

/** EnvoyFilter: holds the plugin as Envoy has it. */
function checkEnvoyFilter(manifest: Node, where: string): Finding[] {
  const plugins = findNodes(manifest, isPlugin);
  return plugins.flatMap((plugin) => {
    const given = plugin["configuration"];
    const text = isType(given, "StringValue") ? textAt(given, "value") : "";
    const configuration: unknown = text.trim() === "" ? {} : JSON.parse(text);
    const options = readCheckedOptions(configuration);
    return [
      ...checkOptions(configuration, where),
      ...checkPlugin(plugin, options, where),
      ...checkPatches(manifest, options, where),
    ];
  });
}

/** VirtualService: istiod refuses one whole for a timeout that Envoy would take for "none". */
function checkVirtualService(manifest: Node, where: string): Finding[] {
  const refused = nodesAt(manifest, "spec.http")
    .filter((route) => /^0(s|ms)?$/.test(textAt(route, "timeout")))
    .map(() =>
      error(where, "istiod refuses timeout 0s: leave it out, Istio's default is no timeout"),
    );
  return [...refused, ...checkRouteTimeout(manifest, where)];
}

/** Kinds that the rules above know. */
const CHECKED_KINDS = [
  ...["WasmPlugin", "EnvoyFilter", "VirtualService", "DestinationRule"],
  ...["EnvoyExtensionPolicy", "ClientTrafficPolicy", "BackendTrafficPolicy", "HTTPRoute"],
];

/** Whether a manifest is of a kind with rules, or carries a bootstrap. */
export function concernsFilter(manifest: Node): boolean {
  return CHECKED_KINDS.includes(textAt(manifest, "kind")) || bootstrapsIn(manifest).length > 0;
}

/** Gateways that a manifest of Istio puts the filter on; "" where it brings none. */
function placeOf(manifest: Node): string {
  const kind = textAt(manifest, "kind");
  const isFilter =
    kind === "WasmPlugin"
      ? textAt(manifest, "spec.url").includes("smetric")
      : kind === "EnvoyFilter" && findNodes(manifest, isPlugin).length > 0;
  if (!isFilter) return "";
  const labels =
    at(manifest, "spec.selector.matchLabels") ?? at(manifest, "spec.workloadSelector.labels");
  return JSON.stringify([textAt(manifest, "metadata.namespace"), labels ?? null]);
}

/** WasmPlugin and EnvoyFilter on the same workloads: both would run. */
function checkOnlyOne(manifests: Node[]): Finding[] {
  const places = manifests.map(placeOf);
  return manifests
    .filter((_, index) => places[index] !== "" && places.indexOf(places[index]!) < index)
    .map((manifest) => {
      const where = `${textAt(manifest, "kind")} ${textAt(manifest, "metadata.name")}`;
      const message =
        "another manifest in this file puts the filter on the same workloads: every request is counted and decided twice";
      return warning(where, message);
    });
}

function bootstrapsIn(manifest: Node): string[] {
  return Object.values(isNode(manifest["data"]) ? manifest["data"] : {})
    .filter((text): text is string => typeof text === "string")
    .filter((text) => text.includes("static_resources:"));
}

function checkManifest(manifest: Node, all: Node[], checkText: CheckText): Finding[] {
  const kind = textAt(manifest, "kind");
  const where = `${kind} ${textAt(manifest, "metadata.name")}`;
  try {
    if (kind === "WasmPlugin") return checkWasmPlugin(manifest, where);
    if (kind === "EnvoyExtensionPolicy") return checkExtensionPolicy(manifest, where, all);
    if (kind === "EnvoyFilter") return checkEnvoyFilter(manifest, where);
    if (kind === "VirtualService") return checkVirtualService(manifest, where);
    if (kind === "DestinationRule") return checkDestinationRule(manifest, where, all);
    if (kind === "ClientTrafficPolicy") return checkClientTraffic(manifest, where);
    if (kind === "BackendTrafficPolicy") return checkBackendTraffic(manifest, where);
    if (kind === "HTTPRoute") return checkHttpRoute(manifest, where, all);
    return bootstrapsIn(manifest).flatMap((text) => checkText(text).findings);
  } catch (fault) {
    return [error(where, `the filter's configuration is not valid JSON: ${String(fault)}`)];
  }
}

type CheckText = (text: string) => { findings: Finding[] };

/**
 * Checks the manifests of one file together.
 * @param checkText checks a bootstrap that lies inside a manifest
 */
export function checkManifests(manifests: Node[], checkText: CheckText): Finding[] {
  const each = manifests.flatMap((manifest) => checkManifest(manifest, manifests, checkText));
  return [...each, ...checkOnlyOne(manifests)];
}
