// SPDX-License-Identifier: Apache-2.0
// Tuning: what is tried, that it is searched on one half of the sessions and reported on the other, and when it says no.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { tune } from "../../../cli/commands/tune.ts";
import { type WhatIfFlags, whatIf } from "../../../cli/commands/what-if.ts";
import { checkOptions } from "../../../cli/checking/options-check.ts";
import { Failure } from "../../../cli/failure.ts";
import { measure } from "../../../lab/replay/measures/measures.ts";
import { requireVirtualArm } from "../../../lab/replay/drivers/virtual/virtual-driver.ts";
import { readLog } from "../../../lab/what-if/log.ts";
import type { Play } from "../../../lab/what-if/study.ts";
import {
  armFor,
  candidates,
  type Configuration,
  DEFAULT,
} from "../../../lab/what-if/tuning/candidates.ts";
import { search } from "../../../lab/what-if/tuning/search.ts";
import { chosen, renderTrials, verdictOf } from "../../../lab/what-if/tuning/verdict.ts";
import { FLEET, linesOf, madeUpRecords } from "./rows.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-tuning-"));
after(() => rmSync(folder, { recursive: true }));

const FILE = join(folder, "access.log");
const PLACE = (session: number, turn: number): string => `10.0.0.${(session + turn) % 4}:80`;
writeFileSync(FILE, linesOf(madeUpRecords({ sessions: 8, turns: 12, place: PLACE })));
const LOG = readLog(FILE, 30 * 60_000);

const EMPTY = measure({
  ...{ arm: "", endpoints: 1, records: [], finishedSessions: new Set<string>() },
  ...{ unfinishedSessions: 0, measureFromMs: 0, endMs: 1 },
});

/** Tokens per second of an arm, by the half of the sessions that is played. */
type Speeds = (arm: string, half: "even" | "odd", seed: number) => number;

/** A play whose outcome is known; notes what was played. */
function madeUpPlay(speeds: Speeds, played: string[] = []): Play {
  return (arm, plan) => {
    const first = Number(plan.arrivals[0]!.session.id.split("-")[1]) % 8;
    const half = first % 2 === 0 ? "even" : "odd";
    played.push(`${arm.name} ${half} ${plan.seed}`);
    const tps_slo = speeds(arm.name, half, plan.seed);
    return Promise.resolve({ measures: { ...EMPTY, tps_slo }, jobMs: new Map() });
  };
}

const OPTIONS = { fleet: FLEET, load: 1, seeds: [1, 2, 3], objective: "tokens" } as const;
const TRIED: Configuration[] = [
  { policy: "sticky" },
  { policy: "lmetric" },
  { policy: "agentix" },
  { policy: "smetric-v1" },
];
const STICKY = '{"policy":"sticky"}';

describe("tuning", () => {
  it("tries configurations that the filter takes and virtual time plays, admission where contexts are many", () => {
    assert.ok(candidates(1.2).length > candidates(0.2).length);
    for (const configuration of candidates(1.2)) {
      assert.deepEqual(checkOptions(configuration, ""), [], JSON.stringify(configuration));
      requireVirtualArm(armFor(configuration).policy);
    }
    assert.ok(candidates(0.2).every(({ admission }) => admission === undefined));
  });

  it("searches on the even sessions, with all seeds for the best few, and reports on the odd ones", async () => {
    const played: string[] = [];
    const speeds: Speeds = (arm) => (arm === STICKY ? 110 : arm === "default" ? 100 : 90);
    const result = await search(LOG, TRIED, OPTIONS, madeUpPlay(speeds, played));
    assert.deepEqual(chosen(result), { policy: "sticky" });
    assert.ok(Math.abs(result.reported!.mean - 0.1) < 1e-9);
    assert.equal(new Set(played).size, played.length, "no plan is played twice");
    const odd = played.filter((run) => run.includes(" odd "));
    assert.deepEqual(
      odd.sort(),
      [1, 2, 3].flatMap((seed) => [`default odd ${seed}`, `${STICKY} odd ${seed}`]).sort(),
    );
    assert.match(renderTrials(result), /sticky.*\+10\.0 %/);
    assert.match(verdictOf(result, "tokens", 3)[1]!, /did not see: \+10\.0 % \(seeds \+10\.0 % to/);
  });

  it("keeps the default where nothing gains in every seed", async () => {
    const speeds: Speeds = (arm, _, seed) => (arm === "default" ? 100 : seed === 2 ? 99 : 130);
    const result = await search(LOG, TRIED, OPTIONS, madeUpPlay(speeds));
    assert.equal(chosen(result), DEFAULT);
    assert.equal(result.reported, null);
    assert.match(verdictOf(result, "tokens", 3)[0]!, /none gains over the default/);
  });

  it("keeps the default where the gain is gone on sessions that the search did not see", async () => {
    const speeds: Speeds = (arm, half) => (arm === STICKY && half === "even" ? 120 : 100);
    const result = await search(LOG, TRIED, OPTIONS, madeUpPlay(speeds));
    assert.equal(chosen(result), DEFAULT);
    assert.match(verdictOf(result, "tokens", 3)[1]!, /that is no gain, keep the default/);
  });
});

describe("the commands on a log", () => {
  const flags = { minutes: "30", seeds: "1", blockTokens: "64", bytesPerToken: "0.5" };
  const asked: WhatIfFlags = { ...flags, loads: "1" };

  it("tune writes a configuration, and what-if takes it", async () => {
    const out = join(folder, "filter.json");
    const json = join(folder, "answer.json");
    const html = join(folder, "answer.html");
    await tune(FILE, { ...flags, load: "1", objective: "jct", out });
    const configuration = JSON.parse(readFileSync(out, "utf8")) as object;
    assert.deepEqual(checkOptions(configuration, ""), []);
    writeFileSync(out, JSON.stringify({ policy: "sticky", admission: { enabled: true } }));
    await whatIf(FILE, { ...asked, loads: "2,1,1", config: out, json, html });
    const report = JSON.parse(readFileSync(json, "utf8")) as { loads: { load: number }[] };
    assert.deepEqual(
      report.loads.map(({ load }) => load),
      [1, 2],
    );
    assert.ok(readFileSync(html, "utf8").includes("prompt tokens again"));
  });

  it("say what is wrong in one line before anything runs", async () => {
    const observing = join(folder, "observing.json");
    writeFileSync(observing, '{"mode":"observe"}');
    const faults: [Partial<WhatIfFlags>, RegExp][] = [
      [{ now: "fast" }, /policy fast: allowed in virtual time are/],
      [{ preset: "gpu" }, /--preset gpu: allowed are 8b-h100/],
      [{ endpoints: "0" }, /--endpoints 0: a whole number of at least 1/],
      [{ kvTokens: "much" }, /--kv-tokens much: a whole number/],
      [{ loads: "1,none" }, /--loads none: a number from/],
      [{ minutes: "0" }, /--minutes 0: a number of at least 1/],
      [{ config: join(folder, "missing.json") }, /missing\.json: /],
      [{ config: observing }, /mode "observe" routes nothing/],
      [{ html: join(folder, "no", "page.html") }, /--html .* cannot be written/],
    ];
    for (const [change, message] of faults) {
      await assert.rejects(whatIf(FILE, { ...asked, ...change }), (error: unknown) => {
        assert.ok(error instanceof Failure, String(error));
        assert.match(error.message, message);
        return true;
      });
    }
    await assert.rejects(
      tune(FILE, { ...flags, load: "1", objective: "speed" }),
      /--objective speed/,
    );
  });
});
