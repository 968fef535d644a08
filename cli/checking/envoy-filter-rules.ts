// SPDX-License-Identifier: Apache-2.0
// Rules about the patches of Istio's EnvoyFilter: where they put the filter and who obeys it, and the limits that they set.
import { ENDPOINT_HEADER } from "./chain.ts";
import { error, type Finding, warning } from "./finding.ts";
import { at, findNodes, isType, type Node, nodesAt, numberAt, textAt } from "./node.ts";
import type { CheckedOptions } from "./options-check.ts";

/** Patches that put an HTTP filter into the chain, in their order. */
function insertionsOf(manifest: Node): Node[] {
  return nodesAt(manifest, "spec.configPatches").filter(
    (patch) => patch["applyTo"] === "HTTP_FILTER",
  );
}

/** Whether a patch inserts a Wasm filter, in place or by extension discovery. */
function insertsWasm(patch: Node): boolean {
  const types = at(patch, "patch.value.config_discovery.type_urls");
  if (Array.isArray(types) && types.some((type) => String(type).endsWith(".Wasm"))) return true;
  return isType(at(patch, "patch.value.typed_config"), "Wasm");
}

function checkPin(manifest: Node, where: string): Finding[] {
  const insertions = insertionsOf(manifest);
  const pin = insertions.findIndex((patch) =>
    isType(at(patch, "patch.value.typed_config"), "StatefulSession"),
  );
  // Istio's own session filter, by a label of the service, leaves nothing to see here.
  const session = insertions[pin];
  if (session === undefined) return [];
  const findings: Finding[] = [];
  if (pin < insertions.findIndex(insertsWasm)) {
    const message =
      "stateful_session is inserted before the filter: it looks for a pin that is not yet there";
    findings.push(error(where, message));
  }
  const header = "patch.value.typed_config.session_state.typed_config.name";
  if (textAt(session, header) !== ENDPOINT_HEADER) {
    findings.push(error(where, `stateful_session does not read the header ${ENDPOINT_HEADER}`));
  }
  return findings;
}

function checkPlace(manifest: Node, where: string): Finding[] {
  return insertionsOf(manifest)
    .filter((patch) => {
      const neighbour = textAt(patch, "match.listener.filterChain.filter.subFilter.name");
      return (
        textAt(patch, "patch.operation") === "INSERT_AFTER" &&
        neighbour === "envoy.filters.http.router"
      );
    })
    .map((patch) => {
      const name = textAt(patch, "patch.value.name");
      return error(where, `${name} is inserted after the router, where no request arrives`);
    });
}

function checkLimits(manifest: Node, capBytes: number, where: string): Finding[] {
  const names = ["per_connection_buffer_limit_bytes", "initial_stream_window_size"];
  return names.flatMap((name) =>
    findNodes(manifest, (node) => (numberAt(node, name) ?? capBytes) < capBytes).map((node) => {
      const message = `${name} is ${numberAt(node, name)} bytes, less than hold_cap_bytes (${capBytes}): longer bodies are released before their end`;
      return warning(where, message);
    }),
  );
}

/** All rules about the patches around a filter that routes. */
export function checkPatches(manifest: Node, options: CheckedOptions, where: string): Finding[] {
  if (options.mode !== "route") return [];
  return [
    ...checkPlace(manifest, where),
    ...(options.steering === "pin" ? checkPin(manifest, where) : []),
    ...checkLimits(manifest, options.holdCapBytes, where),
  ];
}
