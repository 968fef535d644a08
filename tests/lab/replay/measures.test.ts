// SPDX-License-Identifier: Apache-2.0
// Measures against numbers worked out by hand.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KnownPrefixes } from "../../../lab/replay/measures/known-prefixes.ts";
import { measure } from "../../../lab/replay/measures/measures.ts";
import { measureRows } from "../../../lab/replay/report/rows.ts";
import type { ArmRun, CallRecord } from "../../../lab/replay/measures/record.ts";
import {
  append,
  type Call,
  type Item,
  type Session,
} from "../../../lab/replay/workloads/session.ts";

function record(changes: Partial<CallRecord>): CallRecord {
  return {
    session: "a",
    app: "app",
    call: 0,
    turn: 1,
    endpoint: 0,
    startedMs: 0,
    firstTokenMs: 500,
    endedMs: 1500,
    promptTokens: 1000,
    localTokens: 0,
    fetchedTokens: 0,
    possibleTokens: 0,
    outputTokens: 101,
    preemptions: 0,
    holdMs: 0,
    queueMs: 100,
    fetchMs: 0,
    seenTurn: null,
    verifiedTurn: null,
    decision: null,
    gapMs: 0,
    gap: "start",
    error: null,
    ...changes,
  };
}

function runOf(records: CallRecord[], changes: Partial<ArmRun> = {}): ArmRun {
  return {
    arm: "arm",
    endpoints: 2,
    records,
    finishedSessions: new Set(["a"]),
    unfinishedSessions: 0,
    measureFromMs: 0,
    endMs: 10_000,
    ...changes,
  };
}

const second = {
  call: 1,
  turn: 2,
  endpoint: 1,
  gap: "tool" as const,
  gapMs: 500,
  startedMs: 2000,
  firstTokenMs: 5000,
  endedMs: 5100,
  promptTokens: 2000,
  localTokens: 600,
  fetchedTokens: 200,
  possibleTokens: 1000,
  outputTokens: 11,
};

describe("measures", () => {
  const result = measure(runOf([record({}), record(second)]));

  it("divides cached by prompt tokens, local and fetched apart", () => {
    assert.equal(result.hit_rate, 800 / 3000);
    assert.equal(result.hit_rate_local, 600 / 3000);
    assert.equal(result.hit_rate_global, 200 / 3000);
    assert.equal(result.hit_possible, 1000 / 3000);
    assert.equal(result.recomputed, 200 / 3000);
    assert.deepEqual(
      result.by_turn.map((row) => [row.turn, row.requests, row.hit_rate]),
      [
        ["1", 1, 0],
        ["2", 1, 0.4],
      ],
    );
  });

  it("counts all tokens of finished requests per second, and those within the objective", () => {
    assert.equal(result.tps, (1101 + 2011) / 10);
    // The second waits 3 s for its first token: more than 1 s + 2 x 62.5 ms.
    assert.equal(result.tps_slo, 1101 / 10);
    assert.equal(result.tps_slo_20, 1101 / 10);
    assert.equal(result.prefill_tps, 300);
  });

  it("takes a job from the first request to the last answer", () => {
    assert.equal(result.jobs, 1);
    assert.equal(result.jct_s.mean, 5.1);
    assert.equal(result.jct_per_token_ms, 5100 / 3112);
    assert.equal(result.jct_tool_s, 0.5);
    assert.equal(result.jct_queue_s, 0.2);
    assert.equal(result.jct_decode_s, 1.1);
    assert.equal(result.turn_jobs, 1);
  });

  it("says how uneven the endpoints were and how often sessions moved", () => {
    assert.equal(result.load_max_over_mean, 2011 / 1556);
    assert.equal(result.endpoints_per_session, 2);
    assert.equal(result.migrations, 1);
  });

  it("leaves warm-up, failures and cut-off sessions out", () => {
    const records = [
      record({ session: "cut" }),
      record({ session: "cut", startedMs: 3000, error: "status 503" }),
      record({ session: "cut", startedMs: 4000, endedMs: 5000 }),
    ];
    const cut = measure(runOf(records, { measureFromMs: 2000, unfinishedSessions: 1 }));
    assert.equal(cut.requests, 1);
    assert.equal(cut.errors, 1);
    assert.equal(cut.jobs, 0);
    assert.equal(cut.unfinished_jobs, 1);
  });

  it("has no number, null in JSON and a dash in tables, where nothing was measured", () => {
    const failed = record({ error: "status 503", seenTurn: 1 });
    const none = measure(runOf([failed], { finishedSessions: new Set() }));
    const json = JSON.parse(JSON.stringify(none)) as typeof none;
    assert.equal(json.hit_rate, null);
    assert.equal(json.turn_accuracy, null);
    assert.equal(json.makespan_s, null);
    assert.equal(json.load_max_over_mean, null);
    assert.deepEqual(new Set(Object.values({ ...json.jct_s, ...json.ttft_ms })), new Set([null]));
    for (const arm of [none, json]) {
      for (const [name, value] of measureRows([arm])) {
        const counts = ["requests (errors)", "tokens/s", "  within the SLO", "jobs (cut off)"];
        if (!counts.includes(name)) assert.equal(value(arm), "-", name);
      }
    }
  });

  it("compares seen turns with the truth and finds homes that were none", () => {
    const seen = measure(
      runOf([
        record({ seenTurn: 1, decision: "first_turn" }),
        record({ ...second, seenTurn: 3, decision: "home", localTokens: 0, fetchedTokens: 0 }),
      ]),
    );
    assert.equal(seen.turn_accuracy, 0.5);
    assert.equal(seen.wrong_homes, 1);
    assert.deepEqual(seen.decisions, { first_turn: 1, home: 1 });
    assert.equal(result.turn_accuracy, null);
    assert.equal(result.wrong_homes, null);
  });
});

function call(tip: Item, answerKey: number): Call {
  const answer = append(tip, { role: "assistant", key: answerKey, tokens: 20 });
  return { tip, turn: tip.runs + 1, answer, gapMs: 0, gap: "start", after: [] };
}

describe("what an infinite cache would know", () => {
  const app = { name: "app", system: "", tools: [], headTokens: 64 };
  const session: Session = { id: "s", app, calls: [] };
  const first = call(append(null, { role: "user", key: 1, tokens: 100 }), 2);
  const next = call(append(first.answer, { role: "tool", key: 3, tokens: 40 }), 4);

  it("is nothing at first, the head for a new session, the whole last call for a follow-up", () => {
    const known = new KnownPrefixes(16, () => app.headTokens);
    assert.equal(known.find(session, first), 0);
    known.learn(session, first, 164, 20);
    const other = call(append(null, { role: "user", key: 9, tokens: 100 }), 10);
    assert.equal(known.find(session, other), 64);
    assert.equal(known.find(session, next), 176); // 184 tokens in full blocks of 16.
  });

  it("falls back to the shared part when a conversation forks", () => {
    const known = new KnownPrefixes(1, () => app.headTokens);
    known.learn(session, first, 164, 20);
    known.learn(session, next, 224, 20);
    const fork = call(append(first.tip, { role: "user", key: 7, tokens: 5 }), 8);
    assert.equal(known.find(session, fork), 164);
  });
});
