// SPDX-License-Identifier: Apache-2.0
// Virtual time: every call ends once, tokens add up, and the same seed gives the same run.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildFilter } from "../../../cli/build.ts";
import type { ReplayPlan, Watcher } from "../../../lab/replay/drivers/driver.ts";
import { PromptHashes } from "../../../lab/replay/drivers/virtual/prompt-hashes.ts";
import { VirtualDriver } from "../../../lab/replay/drivers/virtual/virtual-driver.ts";
import { measure } from "../../../lab/replay/measures/measures.ts";
import { cachedTokensOf } from "../../../lab/replay/measures/record.ts";
import { buildPlan } from "../../../lab/replay/plan.ts";
import { workloadNamed } from "../../../lab/replay/workloads/named.ts";

const WATCHER: Watcher = { tick() {}, ended() {}, sessionFinished() {} };
const source = workloadNamed("coding-agent", { seed: 1, tokenScale: 1, starts: "genuine" });

function plan(changes: Partial<ReplayPlan["fleet"]> = {}): ReplayPlan {
  const fleet = {
    endpoints: 4,
    decodeEndpoints: 0,
    preset: "30b-a3b-h20" as const,
    kvTokens: 1_400_000,
    blockTokens: 64,
    globalTokens: 0,
    globalGbps: 0,
    ...changes,
  };
  return buildPlan(source, { fleet, load: { sessions: 40 }, minutes: 5, seed: 1 });
}

async function play(arm: string, of = plan(), gateways = 1) {
  const wasm = await buildFilter();
  const driver = new VirtualDriver({ wasm, bytesPerToken: 0.5, workers: 2, gateways });
  return driver.run(arm, of, WATCHER, new AbortController().signal);
}

describe("virtual time", () => {
  it("ends every call once, with tokens that add up", async () => {
    const { records } = await play("least-request");
    const names = records.map((record) => `${record.session}/${record.call}`);
    assert.equal(new Set(names).size, names.length);
    for (const record of records) {
      assert.equal(record.error, null);
      assert.ok(cachedTokensOf(record) < record.promptTokens);
      assert.ok(record.startedMs <= record.firstTokenMs && record.firstTokenMs <= record.endedMs);
    }
  });

  it("repeats itself with the same seed, through the compiled filter as well", async () => {
    for (const arm of ["least-request", "linear:0.55", "sticky"]) {
      const [first, again] = [await play(arm), await play(arm)];
      assert.deepEqual(measure(again), measure(first));
    }
  });

  it("keeps calls of a session in order", async () => {
    const { records } = await play("p2c");
    const lastEnd = new Map<string, number>();
    for (const record of [...records].sort((a, b) => a.startedMs - b.startedMs)) {
      assert.ok(record.startedMs >= (lastEnd.get(record.session) ?? 0));
      lastEnd.set(record.session, record.endedMs);
    }
  });

  it("sends follow-ups home through the compiled filter and reads every turn right", async () => {
    const result = measure(await play("sticky"));
    assert.ok(result.hit_rate >= 0.95 * result.hit_possible, `${result.hit_rate}`);
    assert.equal(result.turn_accuracy, 1);
    const blind = measure(await play("least-request"));
    assert.ok(blind.hit_rate < 0.9 * result.hit_rate, `${blind.hit_rate}`);
  });

  it("fetches from a global tier what other endpoints have computed", async () => {
    const result = measure(
      await play("round-robin", plan({ globalTokens: 20_000_000, globalGbps: 40 })),
    );
    assert.ok(result.hit_rate_global > 0.1, `${result.hit_rate_global}`);
  });

  it("lets the filter name prefill endpoints where others decode", async () => {
    const { records, endpoints } = await play("sticky", plan({ decodeEndpoints: 4 }));
    assert.equal(endpoints, 4);
    const used = new Set(records.map((record) => record.endpoint));
    assert.deepEqual([...used].sort(), [0, 1, 2, 3]);
    const moved = records.filter(({ decision, endpoint, session, call }) => {
      const before = records.find((other) => other.session === session && other.call === call - 1);
      return decision === "home" && before !== undefined && before.endpoint !== endpoint;
    });
    assert.equal(moved.length, 0);
  });

  it("loses hits when several gateways share nothing", async () => {
    const one = measure(await play("cache-first"));
    const four = measure(await play("cache-first", plan(), 4));
    assert.ok(four.hit_rate < one.hit_rate);
  });
});

describe("block hashes of conversations", () => {
  it("are those of the call before, as far as both are the same", () => {
    const session = source.at(0);
    const hashes = new PromptHashes(session, 16);
    const first = hashes.of(session.calls[0]!);
    const second = hashes.of(session.calls[1]!);
    const fresh = new PromptHashes(session, 16).of(session.calls[1]!);
    assert.deepEqual(second, fresh);
    const shared = Math.floor((session.app.headTokens + session.calls[0]!.answer.totalTokens) / 16);
    if (session.calls[1]!.turn === 2)
      assert.deepEqual(second.subarray(0, shared), first.subarray(0, shared));
  });
});
