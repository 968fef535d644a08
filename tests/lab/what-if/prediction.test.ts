// SPDX-License-Identifier: Apache-2.0
// The proof: from the log of an observed run, what-if predicts the run of the same replay with the filter routing.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { whatIf } from "../../../cli/commands/what-if.ts";
import type { ReplayPlan } from "../../../lab/replay/drivers/driver.ts";
import { buildPlan } from "../../../lab/replay/plan.ts";
import { workloadNamed } from "../../../lab/replay/workloads/named.ts";
import type { WhatIfReport } from "../../../lab/what-if/html.ts";
import { FLEET, playVirtually } from "./rows.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-prediction-"));
after(() => rmSync(folder, { recursive: true }));

/** Hit rates may be off by that much. */
const POINTS = 0.03;
/** What the log tells of the engines, in parts of the truth. */
const CAPACITY_ERROR = 0.2;
const SPEED_ERROR = 0.1;

function plan(sessions: number, kvTokens: number): ReplayPlan {
  const source = workloadNamed("coding-agent", { seed: 1, tokenScale: 1, starts: "genuine" });
  const fleet = { ...FLEET, kvTokens };
  return buildPlan(source, { fleet, load: { sessions }, minutes: 8, seed: 1 });
}

async function predict(lines: readonly string[]): Promise<WhatIfReport> {
  const log = join(folder, "observed.jsonl");
  const json = join(folder, "answer.json");
  writeFileSync(log, lines.map((line) => `${line}\n`).join(""));
  await whatIf(log, {
    ...{ loads: "1", seeds: "2", minutes: "30", blockTokens: "64", bytesPerToken: "0.5" },
    json,
  });
  return JSON.parse(readFileSync(json, "utf8")) as WhatIfReport;
}

function near(found: number, truth: number, error: number, what: string): void {
  assert.ok(Math.abs(found - truth) <= error, `${what}: ${found}, in truth ${truth}`);
}

describe("in virtual time, the log of an observed run", () => {
  for (const [now, sessions, kvTokens] of [
    ["least-request", 30, 700_000],
    ["round-robin", 40, 600_000],
  ] as const) {
    it(`under ${now} predicts the hit rate of the routed run within 3 points`, async () => {
      const lines: string[] = [];
      const before = await playVirtually(now, plan(sessions, kvTokens), (line) => lines.push(line));
      const routed = await playVirtually("priced", plan(sessions, kvTokens));
      assert.ok(routed.hit_rate > before.hit_rate + 0.1, "there is something to predict");
      const { config, loads, answer } = await predict(lines);
      const [point] = loads;
      near(point!.ours.hit_rate, routed.hit_rate, POINTS, "hit rate with the filter");
      near(point!.now.hit_rate, before.hit_rate, POINTS, "hit rate now");
      assert.equal(config["endpoints"], FLEET.endpoints);
      near(Number(config["kv_tokens"]), kvTokens, CAPACITY_ERROR * kvTokens, "KV capacity");
      const cost = config["cost"] as { prefillTokenMs: number };
      near(cost.prefillTokenMs, 0.05, SPEED_ERROR * 0.05, "milliseconds a prefilled token");
      assert.match(answer[0]!, /your fleet computes .* prompt tokens again .* with the filter/);
      assert.ok(
        answer.some((sentence) => sentence.startsWith("it matters to users at every load")),
      );
    });
  }
});
