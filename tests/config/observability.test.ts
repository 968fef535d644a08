// SPDX-License-Identifier: Apache-2.0
// Dashboard and alert rules ask only for metrics that exist.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { parse } from "yaml";
import { PANELS } from "../../cli/generating/dashboard.ts";
import { readMetrics } from "../../cli/generating/metrics-table.ts";
import { fromRoot } from "../../cli/paths.ts";

const metrics = readMetrics();
const names = new Set(metrics.map(({ stat }) => stat.split(".")[0] ?? ""));

/** Names of ours in a query, without the endings that Prometheus gives to histograms. */
function metricsIn(expr: string): string[] {
  return (expr.match(/\bsmetric_[a-z_]+/g) ?? []).map((name) => name.replace(/_bucket$/, ""));
}

interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[];
}

const rules = (
  parse(readFileSync(fromRoot("deploy/observability/alerts.yaml"), "utf8")) as Rules
).groups.flatMap((group) => group.rules);

test("every panel of the dashboard asks for metrics that exist", () => {
  for (const { title, queries } of PANELS) {
    for (const { expr } of queries) {
      for (const name of metricsIn(expr)) assert.ok(names.has(name), `${title}: ${name}`);
    }
  }
});

test("every alert asks for metrics that exist, and says what is wrong", () => {
  for (const { alert, expr, annotations } of rules) {
    for (const name of metricsIn(expr)) assert.ok(names.has(name), `${alert}: ${name}`);
    assert.match(annotations.summary, /\.$/, alert);
  }
});

test("every label value in a query is one that the filter writes", () => {
  const written = new Set(
    metrics.flatMap(({ stat, values = [] }) => [
      ...stat.split("."),
      ...values.map(({ value }) => value),
    ]),
  );
  const exprs = [
    ...rules.map(({ expr }) => expr),
    ...PANELS.flatMap(({ queries }) => queries.map(({ expr }) => expr)),
  ];
  for (const expr of exprs) {
    for (const [, values = ""] of expr.matchAll(/\b(?:outcome|reason|result)!?=~?"([^"]+)"/g)) {
      for (const value of values.split("|")) assert.ok(written.has(value), `${expr}: ${value}`);
    }
  }
});

test("every metric has a meaning and a name that Prometheus takes", () => {
  for (const { stat, meaning } of metrics) {
    assert.match(stat.split(".")[0] ?? "", /^smetric_[a-z_]+$/);
    assert.match(meaning, /\.$/, stat);
  }
});
