// SPDX-License-Identifier: Apache-2.0
// Rules about the filters of a chain: the flag, the failure policy, the order, and who obeys the decision.
import { type Chain, ENDPOINT_HEADER, isOurs } from "./chain.ts";
import { error, type Finding, warning } from "./finding.ts";
import { at, isType, type Node, textAt } from "./node.ts";
import type { CheckedOptions } from "./options-check.ts";

function indexOfType(chain: Chain, message: string): number {
  return chain.filters.findIndex((filter) => isType(filter["typed_config"], message));
}

/** Whether the filter must hold headers until it has read the body. */
export function holdsHeaders({ mode, steering }: CheckedOptions): boolean {
  return mode === "route" && steering !== "filter-state";
}

function checkFlag(plugin: Node, options: CheckedOptions, where: string): Finding[] {
  if (!holdsHeaders(options)) return [];
  if (plugin["allow_on_headers_stop_iteration"] === true) return [];
  const message =
    "allow_on_headers_stop_iteration is not set: the filter never sees a body before the headers have gone (Envoy 1.35 or newer)";
  return [error(where, message)];
}

/** Names of Envoy's enumeration `FailurePolicy`; it takes their numbers as well. */
const FAILURE_POLICIES = ["UNSPECIFIED", "FAIL_RELOAD", "FAIL_CLOSED", "FAIL_OPEN"];
const RUNTIMES = ["v8", "wasmtime", "wamr", "null"].map((name) => `envoy.wasm.runtime.${name}`);

/** What Envoy refuses at load, where a name is not one of a few. */
function checkName(plugin: Node, path: string, names: string[], where: string): Finding[] {
  const name = textAt(plugin, path);
  if (name === "" || names.includes(name)) return [];
  const field = path.split(".").pop();
  return [error(where, `${field} ${name} is not known to Envoy; ${names.join(", ")} are`)];
}

function checkFailurePolicy(plugin: Node, where: string): Finding[] {
  const unknown = checkName(plugin, "failure_policy", FAILURE_POLICIES, where);
  if (unknown.length > 0) return unknown;
  const policy = textAt(plugin, "failure_policy");
  if (policy === "FAIL_RELOAD") return [];
  if (policy === "FAIL_OPEN") {
    return [warning(where, "failure_policy FAIL_OPEN: after one trap the filter is gone for good")];
  }
  const message =
    "failure_policy is not FAIL_RELOAD: after one trap a worker answers 503 until it is configured anew";
  return [warning(where, message)];
}

function checkObserve(chain: Chain): Finding[] {
  if (chain.options.mode !== "observe") return [];
  return indexOfType(chain, "StatefulSession") < 0
    ? []
    : [warning(chain.where, "mode is observe: the stateful_session filter has nothing to obey")];
}

function sessionHeader(filter: Node | undefined): string {
  return textAt(filter, "typed_config.session_state.typed_config.name");
}

function checkPin(chain: Chain): Finding[] {
  const { options, where, filters, position } = chain;
  if (options.mode !== "route") return [];
  if (options.steering !== "pin" && options.steering !== "filter-state") return [];
  const pin = indexOfType(chain, "StatefulSession");
  if (pin < 0) {
    const message = `steering is ${options.steering}, but no stateful_session filter obeys it`;
    return [error(where, message)];
  }
  const findings: Finding[] = [];
  if (pin < position) {
    const message =
      "stateful_session stands before the filter: it looks for a pin that is not yet there";
    findings.push(error(where, message));
  }
  if (sessionHeader(filters[pin]) !== ENDPOINT_HEADER) {
    findings.push(error(where, `stateful_session does not read the header ${ENDPOINT_HEADER}`));
  }
  if (at(filters[pin], "typed_config.strict") === true) {
    const message = "stateful_session is strict: a request whose home is gone fails with 503";
    findings.push(error(where, message));
  }
  return findings;
}

function checkFilterState(chain: Chain): Finding[] {
  const { options, where, position } = chain;
  if (options.steering !== "filter-state" || options.mode !== "route") return [];
  const mutation = indexOfType(chain, "HeaderMutation");
  if (mutation < position) {
    const message =
      "steering is filter-state, but no header_mutation filter after it writes the pin";
    return [error(where, message)];
  }
  const findings: Finding[] = [];
  const buffer = indexOfType(chain, "Buffer");
  if (buffer < position || buffer > mutation) {
    const message =
      "steering is filter-state, but no buffer filter behind it holds the request: header_mutation runs before the decision";
    findings.push(error(where, message));
  }
  const pin = indexOfType(chain, "StatefulSession");
  if (pin >= 0 && pin < mutation) {
    const message =
      "stateful_session stands before header_mutation: it looks for a pin that is not yet there";
    findings.push(error(where, message));
  }
  return findings;
}

/** Rules about the filter's own plugin configuration. */
export function checkPlugin(plugin: Node, options: CheckedOptions, where: string): Finding[] {
  return [
    ...checkFlag(plugin, options, where),
    ...checkFailurePolicy(plugin, where),
    ...checkName(plugin, "vm_config.runtime", RUNTIMES, where),
  ];
}

function checkOnlyOne({ filters, where }: Chain): Finding[] {
  const count = filters.filter(isOurs).length;
  if (count <= 1) return [];
  const message = `the chain holds the filter ${count} times: every request is counted and decided as often`;
  return [warning(where, message)];
}

/** All rules about filters. */
export function checkFilters(chain: Chain): Finding[] {
  const { plugin, options, where } = chain;
  const others = [checkOnlyOne, checkObserve, checkPin, checkFilterState].flatMap((rule) =>
    rule(chain),
  );
  return [...checkPlugin(plugin, options, where), ...others];
}
