// SPDX-License-Identifier: Apache-2.0
// Trace files of users: formats are recognised, sessions found, prefixes kept; made-up programs keep their averages.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { Failure } from "../../../cli/failure.ts";
import { workloadNamed } from "../../../lab/replay/workloads/named.ts";
import { readTrace } from "../../../lab/replay/workloads/trace-file.ts";
import {
  promptTokensOf,
  type Session,
  sharedItem,
  takeSessions,
} from "../../../lab/replay/workloads/session.ts";

const folder = mkdtempSync(join(tmpdir(), "smetric-trace-"));
after(() => rmSync(folder, { recursive: true }));

const OPTIONS = { seed: 1, tokenScale: 1, starts: "genuine" as const };

function sessionsOf(name: string, rows: object[], count: number): Session[] {
  const file = join(folder, name);
  const text = rows.map((row) => `${JSON.stringify(row)}\n`).join("");
  writeFileSync(file, name.endsWith(".gz") ? gzipSync(text) : text);
  return takeSessions(workloadNamed(file, OPTIONS), count);
}

/** Sessions by their number of calls, the longest first. */
function turnsOf(sessions: Session[]): number[][] {
  return sessions
    .map((session) => session.calls.map((call) => call.turn))
    .sort((a, b) => b.length - a.length);
}

describe("trace files", () => {
  it("finds Mooncake's sessions by their chained blocks and keeps shared beginnings", () => {
    const sessions = sessionsOf(
      "mooncake.jsonl.gz",
      [
        { timestamp: 0, input_length: 1100, output_length: 50, hash_ids: [0, 1, 2] },
        { timestamp: 10, input_length: 1600, output_length: 50, hash_ids: [0, 7, 8, 9] },
        { timestamp: 90_000, input_length: 2100, output_length: 50, hash_ids: [0, 1, 3, 4, 5] },
      ],
      2,
    );
    assert.deepEqual(turnsOf(sessions), [[1, 2], [1]]);
    const [long, short] = sessions.sort((a, b) => b.calls.length - a.calls.length) as [
      Session,
      Session,
    ];
    assert.equal(sharedItem(long.calls[0]!.tip, short.calls[0]!.tip)?.totalTokens, 512);
    assert.equal(promptTokensOf(long, long.calls[1]!), 2100);
    assert.equal(long.calls[1]!.gapMs, 60_000);
  });

  it("follows Bailian's parents, also when two continue the same one", () => {
    const row = (chat: number, parent: number, timestamp: number, input: number) => ({
      ...{ chat_id: chat, parent_chat_id: parent, timestamp, input_length: input },
      ...{ output_length: 20, type: "text", turn: 1, hash_ids: [chat] },
    });
    const rows = [row(1, -1, 0, 100), row(2, 1, 5, 150), row(3, 1, 6, 160), row(4, -1, 7, 30)];
    const sessions = sessionsOf("bailian.jsonl", rows, 2);
    assert.deepEqual(turnsOf(sessions), [[1, 2, 2], [1]]);
    const fork = sessions.find((session) => session.calls.length === 3)!;
    assert.deepEqual(
      fork.calls.map((call) => call.after),
      [[], [0], [0]],
    );
  });

  it("links the filter's records by their boundary hashes within a tenant", () => {
    const record = (time_ms: number, tenant: string, hashes: string[], prompt_tokens: number) => ({
      ...{ time_ms, tenant, turn: hashes.length, prompt_tokens, decision: "home" },
      boundaries: hashes.map((hash, runs) => ({ hash, runs, tokens: 0 })),
    });
    const sessions = sessionsOf(
      "records.jsonl",
      [
        record(0, "t", ["a"], 500),
        record(9000, "t", ["a", "b"], 900),
        record(9500, "other", ["a", "b"], 900),
        record(20_000, "t", ["a", "b", "c"], 1500),
      ],
      2,
    );
    // The other tenant's log begins in the middle of a conversation.
    assert.deepEqual(turnsOf(sessions), [[1, 2, 3], [2]]);
  });

  it("finds records in access logs: behind a prefix, as a field, or as text in a field", () => {
    const record = (time_ms: number, hashes: string[]) => ({
      ...{ time_ms, duration_ms: 500, tenant: "t", turn: hashes.length, prompt_tokens: 100 },
      boundaries: hashes.map((hash, runs) => ({ hash, runs, tokens: 10 * (runs + 1) })),
    });
    const [first, second, third] = [["a"], ["a", "b"], ["a", "b", "c"]].map((hashes, index) =>
      record(index * 10_000, hashes),
    );
    const file = join(folder, "access.log");
    const lines = [
      "[2026-01-01 00:00:00.000][1][info][main] starting",
      `2026-01-01T00:00:00Z stdout F ${JSON.stringify(first)}`,
      JSON.stringify({ status: 200, smetric: second }),
      JSON.stringify({ log: `${JSON.stringify({ smetric: JSON.stringify(third) })}\n` }),
      "-",
    ];
    writeFileSync(file, lines.join("\n"));
    const { rows, others } = readTrace(file);
    assert.equal(others, 2);
    assert.deepEqual(
      rows.map(({ timeMs, durationMs, parent }) => [timeMs, durationMs, parent]),
      [
        [-500, 500, -1],
        [9_500, 500, 0],
        [19_500, 500, 1],
      ],
    );
  });

  it("gives twins one prompt, and keeps conversations behind different heads apart", () => {
    const record = (time_ms: number, head: string) => ({
      ...{ time_ms, turn: 1, prompt_tokens: 100, head, head_tokens: 40 },
      boundaries: [{ hash: "a", runs: 0, tokens: 60 }],
    });
    const rows = [record(0, "x"), record(1, "x"), record(2, "y")];
    const sessions = sessionsOf("twins.jsonl", rows, 3);
    const tips = (apps: RegExp): unknown[] =>
      sessions.filter(({ app }) => apps.test(app.name)).map(({ calls }) => calls[0]!.tip);
    assert.equal(new Set(tips(/x$/)).size, 1);
    assert.equal(new Set(tips(/./)).size, 2);
    for (const session of sessions) {
      assert.equal(session.app.headTokens, 40);
      assert.equal(promptTokensOf(session, session.calls[0]!), 100);
    }
  });

  it("links chat bodies by the messages that they repeat", () => {
    const user = (content: string) => ({ role: "user", content });
    const model = { role: "assistant", content: "answer" };
    const sessions = sessionsOf(
      "bodies.jsonl",
      [
        { timestamp: "2026-01-01T00:00:00Z", body: { messages: [user("a")] } },
        { timestamp: "2026-01-01T00:00:09Z", body: { messages: [user("a"), model, user("b")] } },
        { timestamp: "2026-01-01T00:00:10Z", body: { messages: [user("z")] } },
      ],
      2,
    );
    assert.deepEqual(turnsOf(sessions), [[1, 2], [1]]);
  });

  it("says which file or format it cannot read", () => {
    const fails = (name: string, text: string, message: RegExp): void => {
      const file = join(folder, name);
      writeFileSync(file, text);
      assert.throws(
        () => workloadNamed(file, OPTIONS),
        (error: unknown) => error instanceof Failure && message.test(error.message),
      );
    };
    fails("odd.jsonl", '{"a":1}\n', /odd\.jsonl: unknown format/);
    fails("broken.jsonl", '{"hash_ids":[1]}\n{', /broken\.jsonl: line 2 is not a JSON object/);
    fails("empty.jsonl", "", /empty\.jsonl: no rows/);
    fails("null.jsonl", "null\n", /null\.jsonl: line 1 is not a JSON object/);
    fails("plain.br", "no brotli", /plain\.br: cannot be read/);
    fails("part.jsonl", '{"hash_ids":[1]}\n{}\n', /part\.jsonl: not every row has the fields/);
    assert.throws(
      () => workloadNamed(folder, OPTIONS),
      (error: unknown) => error instanceof Failure && /cannot be read/.test(error.message),
    );
    assert.throws(
      () => workloadNamed("nothing", OPTIONS),
      /neither a file nor one of coding-agent/,
    );
  });
});

describe("made-up programs", () => {
  const averages = (name: string) => {
    const sessions = takeSessions(workloadNamed(name, OPTIONS), 400);
    const calls = sessions.flatMap((session) => session.calls.map((call) => ({ session, call })));
    const mean = (value: (each: (typeof calls)[number]) => number): number =>
      calls.reduce((sum, each) => sum + value(each), 0) / calls.length;
    return {
      calls: calls.length / sessions.length,
      prompt: mean(({ session, call }) => promptTokensOf(session, call)),
      output: mean(({ call }) => call.answer.tokens),
    };
  };
  const near = (value: number, published: number, share: number): void => {
    assert.ok(Math.abs(value / published - 1) < share, `${value} is not near ${published}`);
  };

  it("have the published calls a program, prompt and output tokens", () => {
    const lats = averages("lats");
    near(lats.calls, 159.7, 0.1);
    near(lats.prompt, 467, 0.15);
    near(lats.output, 73, 0.1);
    const bfcl = averages("bfcl");
    near(bfcl.calls, 10.75, 0.15);
    near(bfcl.prompt, 735, 0.15);
    near(bfcl.output, 34, 0.1);
    const sharegpt = averages("sharegpt");
    near(sharegpt.calls, 6.66, 0.15);
    near(sharegpt.output, 277, 0.1);
  });

  it("come in turn when workloads are joined", () => {
    const apps = takeSessions(workloadNamed("mixed", OPTIONS), 3).map(({ app }) => app.name);
    assert.deepEqual(
      apps.map((name) => name.split("-")[0]),
      ["lats", "bfcl", "sharegpt"],
    );
  });
});
