// SPDX-License-Identifier: Apache-2.0
// Rules about Kubernetes manifests: the filter inside Istio's and Envoy Gateway's objects, and bootstraps in ConfigMaps.
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

/** EnvoyExtensionPolicy: an EnvoyPatchPolicy beside it sets the flag. */
function checkExtensionPolicy(manifest: Node, where: string, all: Node[]): Finding[] {
  const isPatched = all
    .filter((each) => each["kind"] === "EnvoyPatchPolicy")
    .some((each) => JSON.stringify(each).includes(FLAG));
  return nodesAt(manifest, "spec.wasm").flatMap((wasm) => {
    const configuration = wasm["config"] ?? {};
    const findings = checkOptions(configuration, where);
    if (readCheckedOptions(configuration).mode === "observe" && wasm["failOpen"] !== true) {
      const message =
        "failOpen is not set: a filter that only watches stops all traffic while its module cannot be fetched";
      findings.push(warning(where, message));
    }
    if (!holdsHeaders(readCheckedOptions(configuration)) || isPatched) return findings;
    const message = `no EnvoyPatchPolicy in this file sets ${FLAG}: the filter never sees a body before the headers have gone`;
    return [...findings, error(where, message)];
  });
}

/** EnvoyFilter: holds the plugin as Envoy has it. */
function checkEnvoyFilter(manifest: Node, where: string): Finding[] {
  const plugins = findNodes(
    manifest,
    (node) => textAt(node, "root_id") === "smetric" && isNode(node["vm_config"]),
  );
  return plugins.flatMap((plugin) => {
    const given = plugin["configuration"];
    const text = isType(given, "StringValue") ? textAt(given, "value") : "";
    const configuration: unknown = text.trim() === "" ? {} : JSON.parse(text);
    return [
      ...checkOptions(configuration, where),
      ...checkPlugin(plugin, readCheckedOptions(configuration), where),
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
  return manifests.flatMap((manifest) => checkManifest(manifest, manifests, checkText));
}
