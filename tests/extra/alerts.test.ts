// SPDX-License-Identifier: Apache-2.0
// Each alert rule fires for what it is about and for nothing else, according to Prometheus' own test of rules.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { parse, stringify } from "yaml";
import { fromRoot } from "../../cli/paths.ts";

const FILE = fromRoot("deploy/observability/alerts.yaml");
const EVALUATED_AT = "90m";

interface Rule {
  alert: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

const RULES = (parse(readFileSync(FILE, "utf8")) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
);

/** Two hours of a fleet in which all is well, minute by minute. */
const HEALTHY: Record<string, string> = {
  envoy_wasm_smetric_vm_reload_success: "0x120",
  smetric_hold_unsupported: "0x120",
  'smetric_streams{outcome="conversation"}': "0+600x120",
  'smetric_streams{outcome="stalled"}': "0+1x120",
  'smetric_pins{result="set"}': "0+500x120",
  'smetric_pins{result="moved"}': "0+2x120",
  'smetric_cached_tokens{turns="1"}': "0+5000x120",
  'smetric_cached_tokens{turns="4_to_7"}': "0+85000x120",
  'smetric_reported_prompt_tokens{turns="1"}': "0+8000x120",
  'smetric_reported_prompt_tokens{turns="4_to_7"}': "0+92000x120",
  smetric_prefix_tokens: "0+92000x120",
  smetric_prompt_tokens: "0+100000x120",
  'smetric_in_flight{fleet="llm",slot="0"}': "10x120",
  'smetric_in_flight{fleet="llm",slot="1"}': "12x120",
  'smetric_in_flight{fleet="llm",slot="2"}': "11x120",
  'smetric_in_flight{fleet="llm",slot="3"}': "9x120",
};

/** What is different when an alert is due. */
const SICK: Record<string, { series: Record<string, string>; labels?: Record<string, string> }> = {
  SmetricFilterReloaded: { series: { envoy_wasm_smetric_vm_reload_success: "0x85 1x35" } },
  SmetricCannotHold: { series: { smetric_hold_unsupported: "0x85 7x35" } },
  SmetricBodiesBeyondLimit: { series: { 'smetric_streams{outcome="stalled"}': "0+30x120" } },
  SmetricPinsIgnored: { series: { 'smetric_pins{result="moved"}': "0+100x120" } },
  // First turns that find a head which all sessions share do not hide what later turns have lost.
  SmetricPrefixesLost: {
    series: {
      'smetric_cached_tokens{turns="1"}': "0+50000x120",
      'smetric_reported_prompt_tokens{turns="1"}': "0+55000x120",
      'smetric_cached_tokens{turns="4_to_7"}': "0+35000x120",
      smetric_prefix_tokens: "0+92000x120",
    },
  },
  SmetricLoadUneven: {
    series: { 'smetric_in_flight{fleet="llm",slot="0"}': "60x120" },
    labels: { fleet: "llm" },
  },
};

function seriesOf(changed: Record<string, string>): object[] {
  return Object.entries({ ...HEALTHY, ...changed }).map(([series, values]) => ({ series, values }));
}

/** Every rule is asked in every situation: only the one that is due may fire. */
function situation(name: string, due?: string): object {
  const { series = {}, labels = {} } = due === undefined ? {} : (SICK[due] ?? {});
  return {
    name,
    interval: "1m",
    input_series: seriesOf(series),
    alert_rule_test: RULES.map((rule) => ({
      eval_time: EVALUATED_AT,
      alertname: rule.alert,
      exp_alerts:
        rule.alert === due
          ? [{ exp_labels: { ...rule.labels, ...labels }, exp_annotations: rule.annotations }]
          : [],
    })),
  };
}

function runPromtool(t: { after: (clean: () => void) => void }, tests: object[]): void {
  const folder = mkdtempSync(join(tmpdir(), "smetric-alerts-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "rules.test.yaml");
  writeFileSync(file, stringify({ rule_files: [FILE], evaluation_interval: "1m", tests }));
  const { status, error, stdout, stderr } = spawnSync("promtool", ["test", "rules", file], {
    encoding: "utf8",
  });
  assert.equal(error, undefined, "promtool is not installed (Debian: apt install prometheus)");
  assert.equal(status, 0, stdout + stderr);
}

test("no alert fires for a healthy fleet", (t) => runPromtool(t, [situation("healthy")]));

for (const { alert } of RULES) {
  test(`${alert} fires for what it is about, and no other alert does`, (t) => {
    assert.ok(alert in SICK, `nothing here makes ${alert} due`);
    runPromtool(t, [situation(alert, alert)]);
  });
}
