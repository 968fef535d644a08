// SPDX-License-Identifier: Apache-2.0
// Writes the metrics reference out of the filter's own table of counters.
import { type Metric, readMetrics } from "./metrics-table.ts";

/** Name and labels as Prometheus sees them: `smetric_pins{result="set"}`. */
function prometheusName(stat: string): string {
  const [name = "", ...labels] = stat.split(".");
  const pairs: string[] = [];
  for (let i = 0; i + 1 < labels.length; i += 2) pairs.push(`${labels[i]}="${labels[i + 1]}"`);
  return pairs.length === 0 ? name : `${name}{${pairs.join(", ")}}`;
}

function writeRow({ stat, kind, meaning }: Metric): string {
  return `| \`${prometheusName(stat)}\` | ${kind} | ${meaning} |`;
}

function writeFamily({ stat, kind, meaning, values = [] }: Metric): string {
  const [name = "", label = ""] = stat.split(".");
  return [
    `### \`${name}{${label}="..."}\``,
    ``,
    `A ${kind}. ${meaning}`,
    ``,
    `| \`${label}\` | |`,
    `|---|---|`,
    ...values.map((each) => `| \`${each.value}\` | ${each.meaning} |`),
    ``,
  ].join("\n");
}

/** Text of docs/metrics.md. */
export function writeMetricsReference(): string {
  const metrics = readMetrics();
  const families = metrics.filter((metric) => metric.values !== undefined);
  const plain = metrics.filter((metric) => metric.values === undefined);
  return [
    `<!-- Generated from assembly/metrics: change the comments there, then run \`npm run generate\`. -->`,
    `# Metrics reference`,
    ``,
    `The filter counts in Envoy's own statistics: \`/stats\` on the admin interface names them`,
    `\`wasmcustom.smetric_...\`, \`/stats/prometheus\` drops that prefix. Labels are part of the stat name`,
    `(\`smetric_pins.result.set\`) until the \`stats_tags\` of the bootstrap turn them into Prometheus labels; the`,
    `bootstraps in \`envoy/\` have the rules. Without these rules the dots become underscores, which`,
    `\`deploy/observability/prometheus.yaml\` turns into labels while scraping.`,
    ``,
    `Workers give what they have counted with their tick (\`tick_ms\`, 50 ms): numbers are that old at most, and a`,
    `worker that traps takes along what it counted since.`,
    ``,
    `The number of series is bounded: labels take the values below, \`fleet\` is the name of a cluster, and \`slot\``,
    `is the number of an endpoint in it, at most 1,024.`,
    ``,
    `## By label`,
    ``,
    ...families.map(writeFamily),
    `## All others`,
    ``,
    `| Metric | Kind | Meaning |`,
    `|---|---|---|`,
    ...plain.map(writeRow),
    ``,
    `Envoy counts traps only indirectly: alert on \`wasm.smetric.vm_reload_success\` and`,
    `\`wasm.smetric.vm_reload_backoff\`.`,
    ``,
  ].join("\n");
}
