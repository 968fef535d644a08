// SPDX-License-Identifier: Apache-2.0
// Rules about the bootstrap as a whole: whether the filter's counters survive, and how least request counts.
import { error, type Finding, warning } from "./finding.ts";
import { at, findNodes, isNode, isType, type Node, nodesAt, textAt } from "./node.ts";

/** A counter as Envoy names it, before tags are taken out. */
const SAMPLE = "wasmcustom.smetric_streams.outcome.conversation";

function matches(pattern: Node): boolean {
  const [prefix, suffix] = [textAt(pattern, "prefix"), textAt(pattern, "suffix")];
  if (prefix !== "") return SAMPLE.startsWith(prefix);
  if (suffix !== "") return SAMPLE.endsWith(suffix);
  const [exact, contains] = [textAt(pattern, "exact"), textAt(pattern, "contains")];
  if (exact !== "") return SAMPLE === exact;
  if (contains !== "") return SAMPLE.includes(contains);
  const regex = textAt(pattern, "safe_regex.regex");
  return regex !== "" && new RegExp(`^(?:${regex})$`).test(SAMPLE);
}

function checkStats(bootstrap: unknown): Finding[] {
  const matcher = at(bootstrap, "stats_config.stats_matcher");
  if (!isNode(matcher)) return [];
  const where = "stats_config.stats_matcher";
  const dropped = "the filter's counters (wasmcustom.smetric_*) are dropped";
  if (matcher["reject_all"] === true) return [warning(where, dropped)];
  try {
    const inclusions = nodesAt(matcher, "inclusion_list.patterns");
    if (inclusions.length > 0 && !inclusions.some(matches)) return [warning(where, dropped)];
    const exclusions = nodesAt(matcher, "exclusion_list.patterns");
    return exclusions.some(matches) ? [warning(where, dropped)] : [];
  } catch {
    return [error(where, "a pattern is not a regular expression")];
  }
}

const COUNT_PENDING = "envoy.reloadable_features.least_request_lb_count_pending_requests";

function checkRuntime(bootstrap: unknown): Finding[] {
  const usesLeastRequest = findNodes(
    bootstrap,
    (node) => isType(node, "LeastRequest") || node["lb_policy"] === "LEAST_REQUEST",
  );
  const layers = nodesAt(bootstrap, "layered_runtime.layers");
  const counts = layers.some((layer) => {
    const values = layer["static_layer"];
    return isNode(values) && values[COUNT_PENDING] === true;
  });
  if (usesLeastRequest.length === 0 || counts) return [];
  const message = `${COUNT_PENDING} is not on: a burst of first turns piles up on one endpoint (Envoy 1.39 or newer)`;
  return [warning("layered_runtime", message)];
}

/** All rules about a bootstrap as a whole. */
export function checkWhole(bootstrap: unknown): Finding[] {
  return [...checkStats(bootstrap), ...checkRuntime(bootstrap)];
}
