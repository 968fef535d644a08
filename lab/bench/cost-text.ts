// SPDX-License-Identifier: Apache-2.0
// The report of bench:cost as tables.
import { textTable } from "../replay/report/text-table.ts";
import type { AdmissionCost } from "./admission-cost.ts";
import type { CostReport } from "./cost.ts";
import type { FlatRow } from "./host-flatness.ts";
import type { SpeedRow } from "./reader-speed.ts";

type Value = string | number;

function tableOf(title: string, head: string[], rows: Value[][]): string {
  return `${title}\n${textTable(head, rows)}`;
}

function range([low, high]: [number, number]): string {
  return `${low} - ${high}`;
}

function rowsTable({ rows }: CostReport): string {
  return tableOf(
    "CPU time of the Envoy process per request, microseconds",
    ["proxy", "body bytes", "answer", "cost", "lowest - median", "over envoy"],
    rows.map((row) => [
      row.proxy,
      row.body_bytes,
      row.streaming ? "stream" : "JSON",
      row.cpu_us_per_request,
      range(row.spread_us),
      `${row.ratio_to_envoy.toFixed(2)}x`,
    ]),
  );
}

function stepsTable({ steps }: CostReport): string {
  return tableOf(
    "One filter over an empty one, microseconds",
    ["body bytes", "smetric", "lowest - median", "copy only"],
    steps.map((step) => [step.body_bytes, step.smetric_us, range(step.spread_us), step.copy_us]),
  );
}

function fitText(cost: CostReport): string {
  const { fit, worst_extra_us, us_per_sse_chunk, row_calls_us } = cost;
  return [
    `fit over the empty filter: ${fit.fixed_us} us + ${fit.us_per_mib} us per MiB (reading alone ${fit.scan_gb_per_s} GB/s)`,
    `of it, calls that only a row of filters makes: ${row_calls_us} us`,
    `a request whose long history nobody knows: ${worst_extra_us} us more`,
    `each chunk of a streamed answer: ${us_per_sse_chunk} us`,
  ].join("\n");
}

function followUpTable({ follow_up }: CostReport): string {
  return tableOf(
    "A follow-up of 2 KB over an empty filter, lowest rounds, microseconds",
    ["filter", "alone", "each further one in a row"],
    [
      ["smetric", follow_up.smetric.alone_us, follow_up.smetric.further_us],
      ["the same calls into Envoy alone", follow_up.calls.alone_us, follow_up.calls.further_us],
    ],
  );
}

function callbacksTable({ callbacks_us }: CostReport): string {
  return tableOf(
    "The callbacks of a follow-up in a filter that is alone, microseconds",
    ["callback", "time"],
    Object.entries(callbacks_us).map(([name, us]) => [name.replace("_", " "), us as number]),
  );
}

function admissionText({ us_per_request, spread_us }: AdmissionCost): string {
  return `admission, over the same filter without it: ${us_per_request} us a request (lowest - median ${range(spread_us)})`;
}

function flatTable(rows: FlatRow[]): string {
  return tableOf(
    "A follow-up in the virtual Envoy: host calls, and CPU time of filter and virtual Envoy, microseconds",
    ["with", "count", "host calls", "CPU"],
    rows.map((row) => [row.what, row.count, row.host_calls, row.cpu_us]),
  );
}

function readerTable(rows: SpeedRow[]): string {
  return tableOf(
    "The request reader alone, in Node",
    ["body", "bytes", "us per MiB", "GB/s"],
    rows.map((row) => [row.body, row.body_bytes, row.us_per_mib, row.gb_per_s]),
  );
}

/** Everything that was measured, for people. */
export function printCost(
  cost: CostReport,
  admission: AdmissionCost,
  flat: FlatRow[],
  reader: SpeedRow[],
): string {
  const texts = [fitText(cost), admissionText(admission)];
  const parts = [rowsTable(cost), stepsTable(cost), texts.join("\n"), followUpTable(cost)];
  return [...parts, callbacksTable(cost), flatTable(flat), readerTable(reader)].join("\n\n");
}
