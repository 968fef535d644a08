// SPDX-License-Identifier: Apache-2.0
// A real Prometheus scrapes a real Envoy: every query of the dashboard and of the alert rules finds something.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { parse, stringify } from "yaml";
import { PANELS } from "../../cli/generating/dashboard.ts";
import { fromRoot } from "../../cli/paths.ts";
import { takeTurn } from "../e2e/harness/client.ts";
import { Conversation } from "../e2e/harness/conversation.ts";
import { tellCached } from "../e2e/harness/endpoint.ts";
import { startFleet, until } from "../e2e/harness/fleet.ts";
import { freePort } from "./free-port.ts";

const ALERTS = fromRoot("deploy/observability/alerts.yaml");

interface Configuration {
  global: { scrape_interval: string };
  rule_files: string[];
  scrape_configs: { static_configs: { targets: string[] }[] }[];
}

interface QueryAnswer {
  status: string;
  error?: string;
  /** Each with a time and a number as text. */
  data?: { result: { value: [number, string] }[] };
}

/** The shipped configuration, pointed at another Envoy and in a hurry. */
function configurationFor(target: string): string {
  const text = readFileSync(fromRoot("deploy/observability/prometheus.yaml"), "utf8");
  const configuration = parse(text) as Configuration;
  configuration.global.scrape_interval = "1s";
  configuration.rule_files = [ALERTS];
  for (const job of configuration.scrape_configs) job.static_configs = [{ targets: [target] }];
  return stringify(configuration);
}

async function startPrometheus(t: TestContext, target: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "smetric-prometheus-"));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, "prometheus.yaml");
  writeFileSync(file, configurationFor(target));
  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    "prometheus",
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, "data")}`,
      `--web.listen-address=${address}`,
    ],
    { stdio: "ignore" },
  );
  const started = await Promise.race([once(child, "spawn"), once(child, "error")]);
  assert.equal(started.length, 0, "Prometheus is not installed (Debian: apt install prometheus)");
  t.after(async () => {
    child.kill();
    await once(child, "exit");
  });
  const url = `http://${address}`;
  await until("Prometheus is ready", async () => {
    const response = await fetch(`${url}/-/ready`).catch(() => undefined);
    return response?.status === 200;
  });
  return url;
}

async function query(url: string, expr: string): Promise<QueryAnswer> {
  const parameters = new URLSearchParams({ query: expr.replaceAll("$__rate_interval", "1m") });
  const response = await fetch(`${url}/api/v1/query?${parameters.toString()}`);
  return (await response.json()) as QueryAnswer;
}

/** A share of nothing is a result too, but shows nothing. */
function hasNumbers({ data }: QueryAnswer): boolean {
  return data?.result.some(({ value }) => Number.isFinite(Number(value[1]))) ?? false;
}

test("Prometheus accepts the alert rules", () => {
  const { status, error, stdout } = spawnSync("promtool", ["check", "rules", ALERTS]);
  assert.equal(error, undefined, "promtool is not installed (Debian: apt install prometheus)");
  assert.equal(status, 0, stdout?.toString());
});

/** With stats_tags in the bootstrap, and without: there the configuration makes the labels out of the names. */
for (const bootstrap of ["pin", "rendered/istio-route"])
  test(`${bootstrap}: every query of the dashboard finds numbers of a real run`, async (t) => {
    // Admission has numbers of its own: sessions that run at the same time have no room for a moment.
    const admission = { enabled: true, capacity_tokens: 200 };
    const configuration = { admission };
    const fleet = await startFleet(t, { bootstrap, configuration, answer: tellCached });
    const prometheus = await startPrometheus(t, new URL(fleet.envoy.adminUrl).host);
    const sessions = Array.from({ length: 8 }, (_, i) => new Conversation(`Question ${i}`));
    const waiting = new Set(PANELS.flatMap(({ queries }) => queries.map(({ expr }) => expr)));
    waiting.add('smetric_cached_tokens{turns="4_to_7"}');
    await until("every query has a result", async () => {
      await Promise.all(sessions.map((session) => takeTurn(fleet.envoy.url, session, "and then?")));
      for (const expr of waiting) {
        const answer = await query(prometheus, expr);
        assert.equal(answer.status, "success", `${expr}: ${answer.error}`);
        if (hasNumbers(answer)) waiting.delete(expr);
      }
      return waiting.size === 0;
    }).catch((error: unknown) => {
      assert.fail(`${String(error)}; nothing found for\n${[...waiting].join("\n")}`);
    });
  });
