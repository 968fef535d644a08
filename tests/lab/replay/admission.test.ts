// SPDX-License-Identifier: Apache-2.0
// Admission in virtual time: the shipped module holds and releases, whatever happens to the fleet meanwhile.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildFilter } from "../../../cli/build.ts";
import { Failure } from "../../../cli/failure.ts";
import { BlockPool } from "../../../lab/mock-gpu/engine/block-pool.ts";
import { admissionNamed, joinArm, splitArm } from "../../../lab/replay/admission/arms.ts";
import {
  type Disturbance,
  type FleetPlan,
  UNDISTURBED,
  type Watcher,
} from "../../../lab/replay/drivers/driver.ts";
import {
  requireVirtualArm,
  VirtualDriver,
} from "../../../lab/replay/drivers/virtual/virtual-driver.ts";
import { parseEvents } from "../../../lab/replay/events.ts";
import { measure } from "../../../lab/replay/measures/measures.ts";
import { buildPlan } from "../../../lab/replay/plan.ts";
import { workloadNamed } from "../../../lab/replay/workloads/named.ts";

const WATCHER: Watcher = { tick() {}, ended() {}, sessionFinished() {} };
const FLEET: FleetPlan = {
  endpoints: 2,
  decodeEndpoints: 0,
  preset: "30b-a3b-h20",
  kvTokens: 500_000,
  blockTokens: 64,
  globalTokens: 0,
  globalGbps: 0,
};

interface Case {
  fleet?: Partial<FleetPlan>;
  disturbance?: Partial<Disturbance>;
  gateways?: number;
  sessions?: number;
  admission?: object;
}

async function play(arm: string, given: Case = {}) {
  const { fleet = {}, disturbance = {}, gateways = 1, sessions = 24 } = given;
  const wasm = await buildFilter();
  const configuration = { admission: { hold_limit_ms: 0, ...given.admission } };
  const driver = new VirtualDriver({
    wasm,
    bytesPerToken: 0.5,
    knowsText: true,
    workers: 2,
    gateways,
    configuration,
  });
  const traits = { seed: 2, tokenScale: 1, starts: "genuine" as const };
  const plan = buildPlan(workloadNamed("coding-agent-flat", traits), {
    fleet: { ...FLEET, ...fleet },
    load: { sessions },
    minutes: 12,
    seed: 2,
    disturbance: { ...UNDISTURBED, ...disturbance },
  });
  return driver.run(arm, plan, WATCHER, new AbortController().signal);
}

const heldMs = (run: Awaited<ReturnType<typeof play>>): number =>
  run.records.reduce((sum, record) => sum + record.holdMs, 0);

describe("admission in virtual time", () => {
  it("holds sessions past the knee, and more is done for it", async () => {
    const sessions = 34;
    const off = await play("sticky", { sessions });
    assert.equal(heldMs(off), 0);
    for (const arm of ["sticky+learned", "sticky+given"]) {
      const run = await play(arm, { sessions });
      assert.ok(heldMs(run) > 60_000, `${arm}: ${heldMs(run)} ms`);
      assert.ok(run.records.some(({ decision }) => decision === "admitted"));
      const gain = measure(run).tps / measure(off).tps;
      assert.ok(gain > 1.2, `${arm}: ${gain}`);
    }
  });

  it("holds nothing to speak of where everything fits, and costs nothing", async () => {
    const fits = { fleet: { kvTokens: 2_500_000 } };
    const [off, on] = [await play("sticky", fits), await play("sticky+learned", fits)];
    const share = measure(on).tps / measure(off).tps;
    assert.ok(share > 0.95, `${share}`);
  });

  it("lets requests through after the limit", async () => {
    const run = await play("sticky+learned", { admission: { hold_limit_ms: 20_000 } });
    const longest = Math.max(...run.records.map((record) => record.holdMs));
    assert.ok(longest >= 20_000 && longest < 21_000, `${longest}`);
  });

  it("repeats itself with the same seed", async () => {
    const [first, again] = [await play("sticky+learned"), await play("sticky+learned")];
    assert.deepEqual(measure(again), measure(first));
  });

  it("goes on while endpoints fail, return, restart and change their size", async () => {
    const events = parseEvents("4:down@1,6:up@1,7:kv=300000,8:restart@0,9:sessions=30", 2);
    const run = await play("sticky+learned", { disturbance: { events } });
    const lost = run.records.filter((record) => record.error !== null);
    assert.ok(lost.length > 0);
    const served = run.records.filter((record) => record.endpoint === 1 && record.error === null);
    const sent = served.map(({ startedMs, holdMs }) => startedMs + holdMs);
    assert.ok(!sent.some((atMs) => atMs > 241_000 && atMs < 359_000));
    assert.ok(
      sent.some((atMs) => atMs > 360_000),
      "it is used again",
    );
    assert.equal(run.unfinishedSessions, 30);
  });

  it("works without usage, with false reports and with estimates that are off", async () => {
    const off = measure(await play("sticky")).tps;
    for (const disturbance of [
      { hidesUsage: true },
      { falseReports: 0.02 },
      { estimateError: 0.15 },
    ]) {
      const gain = measure(await play("sticky+learned", { disturbance })).tps / off;
      assert.ok(gain > 1.1, `${JSON.stringify(disturbance)}: ${gain}`);
    }
  });

  it("keeps sessions to their gateway, and gives each gateway its endpoints", async () => {
    const run = await play("sticky+learned", {
      gateways: 2,
      disturbance: { sessionsKeepGateway: true },
    });
    assert.ok(run.records.every((record) => record.error === null));
    assert.ok(heldMs(run) > 0);
  });

  it("has a baseline that searches for its window", async () => {
    const run = await play("sticky+aimd");
    assert.ok(heldMs(run) > 60_000);
    assert.ok(measure(run).hit_rate > 0.9);
  });
});

describe("arms and events by name", () => {
  it("join policy and admission, and part them again", () => {
    assert.equal(joinArm("sticky", "off"), "sticky");
    assert.deepEqual(splitArm(joinArm("priced", "fixed:0.8")), {
      policy: "priced",
      admission: "fixed:0.8",
    });
    assert.deepEqual(admissionNamed("fixed:0.8", 1000).configuration, {
      enabled: true,
      capacity_tokens: 1000,
      window_percent: 80,
    });
  });

  it("are refused where they are none", () => {
    for (const name of ["fixed", "fixed:0", "fixed:a", "learned:1", "x", ""]) {
      assert.throws(() => admissionNamed(name, 1), Failure, name);
    }
    for (const arm of ["linear+learned", "least-request+given", "priced+aimd"]) {
      assert.throws(() => requireVirtualArm(arm), Failure, arm);
    }
    for (const text of ["", "x", "5:down", "5:down@9", "5:kv", "5:sessions=3@1", "5:up=1@1"]) {
      assert.throws(() => parseEvents(text, 4), Failure, text);
    }
  });

  it("are read with minutes, values and ranges of endpoints", () => {
    assert.deepEqual(parseEvents("1:kv=500@1-2, 2.5:down@0", 3), [
      { atMs: 60_000, kind: "kv", kvTokens: 500, endpoints: [1, 2] },
      { atMs: 150_000, kind: "down", endpoints: [0] },
    ]);
  });
});

describe("a pool of blocks that changes its size", () => {
  it("closes blocks as they become free, and opens them again", () => {
    const pool = new BlockPool(8);
    const used = Int32Array.from({ length: 6 }, () => pool.allocate());
    pool.resize(4);
    assert.equal(pool.freeBlocks, 0);
    pool.release(used, 6);
    assert.equal(pool.freeBlocks, 4);
    pool.resize(8);
    assert.equal(pool.freeBlocks, 8);
  });
});
