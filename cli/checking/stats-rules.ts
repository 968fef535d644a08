// SPDX-License-Identifier: Apache-2.0
// Rules about statistics: whether the filter's counters survive the stats matcher.
import { error, type Finding, warning } from "./finding.ts";
import { at, isNode, type Node, nodesAt, textAt } from "./node.ts";

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

/** Rules about `stats_config` of a bootstrap. */
export function checkStats(bootstrap: unknown): Finding[] {
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
