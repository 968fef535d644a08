// SPDX-License-Identifier: Apache-2.0
// The replay over a real Envoy: every arm plays, the filter finds what can be found, and virtual time agrees.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildFilter } from "../../../cli/build.ts";
import { poissonArrivals } from "../../../lab/replay/arrivals.ts";
import type { Driver, ReplayPlan, Watcher } from "../../../lab/replay/drivers/driver.ts";
import { EnvoyDriver } from "../../../lab/replay/drivers/envoy/envoy-driver.ts";
import { VirtualDriver } from "../../../lab/replay/drivers/virtual/virtual-driver.ts";
import { type Measures, measure } from "../../../lab/replay/measures/measures.ts";
import { renderTable } from "../../../lab/replay/report/table.ts";
import { madeUpApps } from "../../../lab/replay/workloads/apps.ts";
import { codingSource } from "../../../lab/replay/workloads/coding-agent.ts";
import { takeSessions } from "../../../lab/replay/workloads/session.ts";

const SESSIONS = 16;
const SPEEDUP = 20;
const WATCHER: Watcher = { tick() {}, ended() {}, sessionFinished() {} };

function plan(): ReplayPlan {
  const source = codingSource({
    seed: 1,
    starts: "genuine",
    apps: madeUpApps(2, 2000),
    tokenScale: 0.12,
    contextCapTokens: 20_000,
    callCap: 8,
    gapCapMs: 10_000,
    weightExponent: 0,
  });
  return {
    fleet: {
      endpoints: 4,
      decodeEndpoints: 0,
      preset: "30b-a3b-h20",
      kvTokens: 100_000,
      blockTokens: 16,
      globalTokens: 0,
      globalGbps: 0,
    },
    arrivals: poissonArrivals(takeSessions(source, SESSIONS), 1000, 1),
    refill: null,
    seed: 1,
    limitMs: 600_000,
    warmupMs: 0,
  };
}

async function play(driver: Driver, arm: string): Promise<Measures> {
  return measure(await driver.run(arm, plan(), WATCHER, new AbortController().signal));
}

describe("the replay over a real Envoy", () => {
  const results = new Map<string, Measures>();

  it("plays every arm to its end without an error", async () => {
    await buildFilter();
    const driver = new EnvoyDriver({ speedup: SPEEDUP });
    const calls = plan().arrivals.reduce((sum, { session }) => sum + session.calls.length, 0);
    for (const arm of ["sticky", "least-request", "round-robin", "session-hash"]) {
      const result = await play(driver, arm);
      results.set(arm, result);
      assert.equal(result.errors, 0);
      assert.equal(result.requests, calls);
      assert.equal(result.jobs, SESSIONS);
    }
    driver.close();
  });

  it("finds at least 0.95 of what can be found with the filter, and reads every turn right", () => {
    const filter = results.get("sticky")!;
    assert.ok(filter.hit_rate >= 0.95 * filter.hit_possible, `${filter.hit_rate}`);
    assert.equal(filter.turn_accuracy, 1);
    assert.equal(filter.wrong_homes, 0);
    assert.ok(results.get("round-robin")!.hit_rate < filter.hit_rate);
    assert.equal(results.get("session-hash")!.endpoints_per_session, 1);
  });

  it("agrees with virtual time on hit rates within 0.05 and on the order of arms", async () => {
    const wasm = await buildFilter();
    const driver = new VirtualDriver({ wasm, bytesPerToken: 4, workers: 2, gateways: 1 });
    for (const arm of ["sticky", "round-robin"]) {
      const virtual = await play(driver, arm);
      const real = results.get(arm)!;
      assert.equal(virtual.requests, real.requests);
      const difference = Math.abs(virtual.hit_rate - real.hit_rate);
      assert.ok(difference < 0.05, `${arm}: ${virtual.hit_rate} virtual, ${real.hit_rate} real`);
    }
  });

  it("ends in a table with one column an arm", () => {
    const table = renderTable("title", [...results.values()]);
    for (const arm of results.keys()) assert.ok(table.includes(arm));
    for (const row of ["hit rate", "possible", "turn 2", "TTFT", "tokens/s", "JCT", "load max"]) {
      assert.ok(table.includes(row), row);
    }
  });
});
