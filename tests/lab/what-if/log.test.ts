// SPDX-License-Identifier: Apache-2.0
// A log as what-if reads it: its busiest part, at other loads, and one clear line for what is no log.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Failure } from "../../../cli/failure.ts";
import { chance } from "../../../lab/replay/workloads/random.ts";
import { promptTokensOf, type Session } from "../../../lab/replay/workloads/session.ts";
import { contextShare, peakContextTokens } from "../../../lab/what-if/contexts.ts";
import { type Log, readLog, sessionsOf } from "../../../lab/what-if/log.ts";
import { observe } from "../../../lab/what-if/observed.ts";
import { planOf } from "../../../lab/what-if/plan.ts";
import { guessPresent } from "../../../lab/what-if/present.ts";
import { FLEET, linesOf, type MadeUp, madeUpRecords } from "./rows.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-log-"));
after(() => rmSync(folder, { recursive: true }));

const MINUTES_MS = 30 * 60_000;

function write(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

function logOf(madeUp: MadeUp, windowMs = MINUTES_MS): Log {
  return readLog(write("log.jsonl", linesOf(madeUpRecords(madeUp))), windowMs);
}

const ENDPOINTS = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80", "10.0.0.4:80"];
const STEADY: MadeUp = { sessions: 8, turns: 12, place: (session) => ENDPOINTS[session % 4]! };

describe("a log", () => {
  it("is read as its sessions, with their turns, times and tokens", () => {
    const log = logOf(STEADY);
    assert.equal(log.rows.length, 96);
    assert.equal(log.trees.length, 8);
    assert.equal(log.spanMs, 11 * 10_000 + 70);
    for (const session of sessionsOf(log)) {
      assert.deepEqual(
        session.calls.map(({ turn }) => turn),
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
      );
      assert.equal(promptTokensOf(session, session.calls[4]!), 5_000);
      assert.equal(session.calls[4]!.gapMs, 9_500);
    }
  });

  it("is cut to its busiest part, where sessions go on in the middle of their life", () => {
    const log = logOf(STEADY, 60_000);
    assert.equal(log.allRequests, 96);
    assert.equal(log.spanMs, 60_000);
    assert.ok(log.rows.every(({ inputTokens }) => inputTokens >= 6_000));
    const [session] = sessionsOf(log) as [Session];
    assert.ok(session.calls[0]!.turn > 5, `${session.calls[0]!.turn}`);
  });

  it("tells what was cached, and what could have been", () => {
    const cached = (_: number, turn: number): number => (turn % 2 === 0 ? (turn - 1) * 1_000 : 0);
    const observed = observe(logOf({ ...STEADY, cached }), 10);
    assert.equal(observed.followUps, 88);
    const sums = { prompt: 8 * 78_000, cached: 8 * 36_000 };
    assert.equal(observed.hitRate, sums.cached / sums.prompt);
    assert.ok(observed.possibleTokens >= 8 * 66_000);
    assert.ok(observed.recomputed! > 0.35 && observed.recomputed! < 0.5);
  });

  it("that tells of several fleets is read as the busiest of them", () => {
    const first = madeUpRecords(STEADY).map((record) => ({ ...record, model: "a" }));
    const elsewhere: MadeUp = { ...STEADY, sessions: 3, place: () => "10.0.9.9:80" };
    const second = madeUpRecords(elsewhere).map((record) => ({ ...record, model: "b" }));
    const log = readLog(write("two.log", linesOf([...first, ...second])), MINUTES_MS);
    assert.equal(log.rows.length, 96);
    assert.equal(log.elsewhere, 36);
    assert.ok(log.rows.every(({ served }) => served.endpoint !== "10.0.9.9:80"));
    const shared = second.map((record) => ({ ...record, endpoint: ENDPOINTS[0] }));
    const both = readLog(write("shared.log", linesOf([...first, ...shared])), MINUTES_MS);
    assert.equal(both.elsewhere, 0);
  });

  it("tells how much its live sessions fill", () => {
    const log = logOf(STEADY);
    assert.equal(peakContextTokens(log), 8 * 12_050);
    assert.equal(contextShare(log, FLEET), (8 * 12_050) / 2_800_000);
  });

  const draws = chance(1, "places");
  const PLACES: Record<string, MadeUp["place"]> = {
    "session-hash": (session) => ENDPOINTS[session % 4]!,
    "round-robin": (session, turn) => ENDPOINTS[(session + turn + Math.floor(turn / 4)) % 4]!,
    "least-request": () => ENDPOINTS[draws.below(4)]!,
  };
  for (const [arm, place] of Object.entries(PLACES)) {
    it(`whose follow-ups were placed by ${arm} is taken for that`, () => {
      assert.equal(guessPresent(observe(logOf({ ...STEADY, place }), 16)).arm, arm);
    });
  }

  it("that names no endpoints is taken for least request, and says so", () => {
    const present = guessPresent(observe(logOf({ ...STEADY, place: () => null }), 16));
    assert.equal(present.arm, "least-request");
    assert.match(present.because, /does not name/);
  });

  it("that is none, or tells too little, is refused in one line", () => {
    const fails = (file: string, message: RegExp): void => {
      assert.throws(
        () => readLog(file, MINUTES_MS),
        (error: unknown) => {
          assert.ok(error instanceof Failure, String(error));
          assert.match(error.message, message);
          assert.doesNotMatch(error.message, /\n/);
          return true;
        },
      );
    };
    const records = madeUpRecords(STEADY);
    fails(join(folder, "missing.log"), /missing\.log: no such file/);
    fails(folder, /cannot be read: /);
    fails(write("empty.log", ""), /empty\.log: no rows/);
    fails(write("prose.log", "hello\nworld\n"), /prose\.log: line 1 is not a JSON object/);
    fails(write("other.log", '{"status":200}\n'), /other\.log: unknown format/);
    fails(write("torn.log", linesOf(records).slice(0, 150)), /torn\.log: line 1 is not a JSON/);
    fails(write("few.log", linesOf(records.slice(0, 20))), /too short: 20 conversations; 30 are/);
    fails(write("brief.log", linesOf(records.slice(0, 40))), /too short: 40 s of traffic; 60 are/);
    const firsts = { ...STEADY, sessions: 96, turns: 8 };
    const single = madeUpRecords(firsts).filter((record) => "turn" in record && record.turn === 1);
    const late = single.map((record, index) => ({ ...record, time_ms: index * 1_000 }));
    fails(write("single.log", linesOf(late)), /0 of 96 requests continue another one/);
    const broken = [...records.slice(0, 50), { ...records[50], turn: 3, prompt_tokens: "many" }];
    fails(write("broken.log", linesOf(broken)), /not every row has the fields/);
  });
});

describe("a log at another load", () => {
  const log = logOf(STEADY);

  it("has as many sessions as that takes, copies with texts of their own", () => {
    for (const [load, sessions] of [
      [0.5, 4],
      [1, 8],
      [1.5, 12],
      [2, 16],
    ] as const) {
      const { arrivals } = planOf(log, { fleet: FLEET, load, seed: 2 });
      assert.equal(arrivals.length, sessions);
      assert.equal(new Set(arrivals.map(({ session }) => session.id)).size, sessions);
      const tips = new Set(arrivals.map(({ session }) => session.calls[0]!.tip));
      assert.equal(tips.size, sessions);
      assert.equal(new Set(arrivals.map(({ session }) => session.app)).size, 1);
    }
  });

  it("is the log itself at load one with the first seed", () => {
    const { arrivals } = planOf(log, { fleet: FLEET, load: 1, seed: 1 });
    assert.deepEqual(
      arrivals.map(({ startMs }) => startMs),
      log.trees.map(([row = 0]) => log.rows[row]!.timeMs),
    );
  });

  it("keeps to one half of the sessions where it is told to", () => {
    const ids = (half: "even" | "odd"): Set<number> => {
      const { arrivals } = planOf(log, { fleet: FLEET, load: 1, seed: 1, half });
      assert.equal(arrivals.length, 8);
      return new Set(arrivals.map(({ session }) => Number(session.id.split("-")[1]) % 8));
    };
    assert.deepEqual([...ids("even")].sort(), [0, 2, 4, 6]);
    assert.deepEqual([...ids("odd")].sort(), [1, 3, 5, 7]);
  });
});
