// SPDX-License-Identifier: Apache-2.0
// The inspect command: one line for each body, in order, as one gateway sees them.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { after, describe, it } from "node:test";
import { fromRoot } from "../../cli/paths.ts";
import { CHAT_PATH, Conversation } from "../host/harness.ts";

const FIELDS = [
  "dialect",
  "turn",
  "verified_turn",
  "last_model_end_byte",
  "prefix_bytes",
  "prefix_tokens",
  "session_key",
  "session_source",
  "decision",
  "outcome",
];

const folder = mkdtempSync(join(tmpdir(), "smetric-inspect-"));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

interface Result {
  lines: Record<string, unknown>[];
  stderr: string;
  status: number | null;
}

function inspect(args: string[], input = ""): Result {
  const command = [fromRoot("cli", "smetric-envoy.mjs"), "inspect", ...args];
  const result = spawnSync(process.execPath, command, { input, encoding: "utf8" });
  const lines = result.stdout.split("\n").filter((line) => line !== "");
  return {
    lines: lines.map((line) => JSON.parse(line) as Record<string, unknown>),
    stderr: result.stderr,
    status: result.status,
  };
}

describe("inspect", () => {
  after(() => rmSync(folder, { recursive: true }));

  it("follows a conversation over several files", () => {
    const conversation = new Conversation("a");
    const first = file("1.json", conversation.body());
    const second = file("2.json", conversation.next(1).body());
    const third = file("3.json", conversation.next(2).body());
    const { lines, status } = inspect(["--path", CHAT_PATH, first, second, third]);
    assert.equal(status, 0);
    assert.deepEqual(Object.keys(lines[0]!), FIELDS);
    assert.deepEqual(
      lines.map((line) => [line["turn"], line["verified_turn"], line["decision"]]),
      [
        [1, 1, "first_turn"],
        [2, 2, "home"],
        [3, 3, "home"],
      ],
    );
    assert.ok((lines[2]!["prefix_tokens"] as number) > (lines[1]!["prefix_tokens"] as number));
    assert.equal(lines[1]!["session_key"], lines[2]!["session_key"]);
    const endOfLastAnswer = conversation.body().lastIndexOf(',{"role":"user"');
    assert.equal(lines[2]!["last_model_end_byte"], endOfLastAnswer);
  });

  it("reads stdin and headers", () => {
    const body = new Conversation("a").body();
    const header = ["--header", "x-session-id: s-1", "--header", "x-other:1"];
    const { lines, status } = inspect(["--path", CHAT_PATH, ...header, "-"], body);
    assert.equal(status, 0);
    assert.equal(lines.length, 1);
    assert.equal(lines[0]!["outcome"], "conversation");
    assert.notEqual(lines[0]!["session_key"], null);
  });

  it("says what becomes of bodies that are none and of other paths", () => {
    const broken = file("broken.json", "{]");
    const { lines } = inspect(["--path", CHAT_PATH, broken]);
    assert.equal(lines[0]!["outcome"], "malformed");
    assert.equal(lines[0]!["turn"], 0);
    const passed = inspect(["--path", "/v1/images", broken]);
    assert.equal(passed.lines[0]!["outcome"], "passed");
    assert.equal(passed.lines[0]!["dialect"], "none");
  });

  it("ends with one plain line when something is missing", () => {
    for (const args of [
      ["--path", CHAT_PATH, join(folder, "nothing.json")],
      ["--path", CHAT_PATH, "--header", "no colon", "-"],
      ["--path", CHAT_PATH, "--header", "a b: c", "-"],
      ["--path", CHAT_PATH, "--header", "a: b\nc: d", "-"],
      ["--path", CHAT_PATH, "--config", file("list.json", "[]"), "-"],
      ["--path", CHAT_PATH, "--config", file("null.json", "null"), "-"],
      ["--path", CHAT_PATH, "-", "-"],
      ["--path", CHAT_PATH, "--config", file("bad.json", '{"policy":"magic"}'), "-"],
      ["-"],
    ]) {
      const { status, stderr, lines } = inspect(args);
      assert.equal(status, 1);
      assert.equal(lines.length, 0);
      assert.doesNotMatch(stderr, /\n\s+at /);
    }
  });
});
