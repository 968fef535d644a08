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

/** Many small sessions: a hit rate under a policy of chance then lies within 0.03 of its mean. */
const SESSIONS = 40;
const SPEEDUP = 20;
/** Virtual time is cheap: its mean over seeds is what chance comes to. */
const VIRTUAL_SEEDS = [1, 2, 3, 4];
const AGREEMENT = 0.05;
const ARMS = ["sticky", "session-hash", "least-request", "round-robin"];
const WATCHER: Watcher = { tick() {}, ended() {}, sessionFinished() {} };

/** What an endpoint holds is never thrown out: then a slow machine changes times, but not what is found. */
function plan(seed = 1): ReplayPlan {
  const source = codingSource({
    seed: 1,
    starts: "genuine",
    apps: madeUpApps(2, 1000),
    tokenScale: 0.05,
    contextCapTokens: 8_000,
    callCap: 8,
    gapCapMs: 10_000,
    weightExponent: 0,
  });
  return {
    fleet: {
      endpoints: 4,
      decodeEndpoints: 0,
      preset: "30b-a3b-h20",
      kvTokens: 700_000,
      blockTokens: 16,
      globalTokens: 0,
      globalGbps: 0,
    },
    arrivals: poissonArrivals(takeSessions(source, SESSIONS), 1000, seed),
    refill: null,
    seed,
    limitMs: 600_000,
    warmupMs: 0,
  };
}

async function play(driver: Driver, arm: string, seed = 1): Promise<Measures> {
  return measure(await driver.run(arm, plan(seed), WATCHER, new AbortController().signal));
}

function callsOf({ arrivals }: ReplayPlan): number {
  return arrivals.reduce((sum, { session }) => sum + session.calls.length, 0);
}

/** Hit rate of an arm in virtual time, mean over seeds; every call is made. */
async function virtualHitRate(driver: Driver, arm: string): Promise<number> {
  const rates: number[] = [];
  for (const seed of VIRTUAL_SEEDS) {
    const result = await play(driver, arm, seed);
    assert.equal(result.requests, callsOf(plan(seed)));
    rates.push(result.hit_rate);
  }
  return rates.reduce((sum, rate) => sum + rate, 0) / rates.length;
}

/** Pairs of arms, the better one first, whose hit rates lie further apart than the drivers may. */
function ordered(rates: ReadonlyMap<string, number>): [better: string, worse: string][] {
  return ARMS.flatMap((better) =>
    ARMS.filter((worse) => rates.get(better)! > rates.get(worse)! + AGREEMENT).map(
      (worse): [string, string] => [better, worse],
    ),
  );
}

describe("the replay over a real Envoy", () => {
  const results = new Map<string, Measures>();

  it("plays every arm to its end without an error", async () => {
    await buildFilter();
    const driver = new EnvoyDriver({ speedup: SPEEDUP });
    for (const arm of ARMS) {
      const result = await play(driver, arm);
      results.set(arm, result);
      assert.equal(result.errors, 0);
      assert.equal(result.requests, callsOf(plan()));
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
    const rates = new Map<string, number>();
    for (const arm of ARMS) {
      const virtual = await virtualHitRate(driver, arm);
      const real = results.get(arm)!.hit_rate;
      rates.set(arm, virtual);
      const said = `${arm}: ${virtual} virtual, ${real} real`;
      assert.ok(Math.abs(virtual - real) < AGREEMENT, said);
    }
    const pairs = ordered(rates);
    assert.deepEqual(pairs, [
      ["sticky", "least-request"],
      ["sticky", "round-robin"],
      ["session-hash", "least-request"],
      ["session-hash", "round-robin"],
    ]);
    for (const [better, worse] of pairs) {
      const [more, less] = [results.get(better)!, results.get(worse)!];
      assert.ok(more.hit_rate > less.hit_rate + AGREEMENT, `${better} above ${worse}`);
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
