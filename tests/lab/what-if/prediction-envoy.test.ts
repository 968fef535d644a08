// SPDX-License-Identifier: Apache-2.0
// The proof on a real Envoy: its access log of an observed run predicts the run with the filter routing.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, it } from "node:test";
import { buildFilter } from "../../../cli/build.ts";
import { whatIf } from "../../../cli/commands/what-if.ts";
import { poissonArrivals } from "../../../lab/replay/arrivals.ts";
import type { ReplayPlan } from "../../../lab/replay/drivers/driver.ts";
import { EnvoyDriver } from "../../../lab/replay/drivers/envoy/envoy-driver.ts";
import { type Measures, measure } from "../../../lab/replay/measures/measures.ts";
import { madeUpApps } from "../../../lab/replay/workloads/apps.ts";
import { codingSource } from "../../../lab/replay/workloads/coding-agent.ts";
import { takeSessions } from "../../../lab/replay/workloads/session.ts";
import type { WhatIfReport } from "../../../lab/what-if/html.ts";
import { FLEET, WATCHER } from "./rows.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-prediction-"));
after(() => rmSync(folder, { recursive: true }));

const SPEEDUP = 20;
const SESSIONS = 40;
const POINTS = 0.03;

/** Small sessions, as a machine with two cores carries them. */
function plan(): ReplayPlan {
  const source = codingSource({
    ...{ seed: 1, starts: "genuine", apps: madeUpApps(2, 1000), tokenScale: 0.05 },
    ...{ contextCapTokens: 8_000, callCap: 8, gapCapMs: 10_000, weightExponent: 0 },
  });
  return {
    fleet: { ...FLEET, blockTokens: 16 },
    arrivals: poissonArrivals(takeSessions(source, SESSIONS), 1000, 1),
    ...{ refill: null, seed: 1, limitMs: 600_000, warmupMs: 0 },
  };
}

/** Measures of the calls that what-if measures too: those after the first third. */
async function play(arm: string, recorded?: (record: string) => void): Promise<Measures> {
  const driver = new EnvoyDriver({ speedup: SPEEDUP, recorded });
  try {
    const run = await driver.run(arm, plan(), WATCHER, new AbortController().signal);
    const lastMs = Math.max(...run.records.map(({ startedMs }) => startedMs));
    return measure({ ...run, measureFromMs: lastMs / 3 });
  } finally {
    driver.close();
  }
}

it("the access log of an observed run predicts the hit rate of the routed run within 3 points", async () => {
  await buildFilter();
  const lines: string[] = [];
  const before = await play("least-request", (line) => lines.push(line));
  assert.equal(lines.length, plan().arrivals.flatMap(({ session }) => session.calls).length);
  const routed = await play("filter");
  assert.ok(routed.hit_rate > before.hit_rate + 0.1, "there is something to predict");

  const log = join(folder, "access.log");
  const json = join(folder, "answer.json");
  writeFileSync(log, ["[info] starting", ...lines].join("\n"));
  await whatIf(log, {
    ...{ loads: "1", seeds: "3", minutes: "30", blockTokens: "16", bytesPerToken: "4" },
    json,
  });
  const { config, loads } = JSON.parse(readFileSync(json, "utf8")) as WhatIfReport;
  const found = loads[0]!.ours.hit_rate;
  assert.ok(Math.abs(found - routed.hit_rate) <= POINTS, `${found}, in truth ${routed.hit_rate}`);
  assert.equal(config["endpoints"], FLEET.endpoints);
});
