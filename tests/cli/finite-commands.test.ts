// SPDX-License-Identifier: Apache-2.0
// Commands for developers that the pages name: each runs to its end and says something.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fromRoot } from "../../cli/paths.ts";

/** @returns what it printed, on either stream */
function run(...args: string[]): string {
  const launcher = fromRoot("cli", "smetric-envoy.mjs");
  const { status, stdout, stderr } = spawnSync(process.execPath, [launcher, ...args]);
  assert.equal(status, 0, stderr.toString());
  return stdout.toString() + stderr.toString();
}

test("bench:scan prints the speed of every kind of body", () => {
  assert.match(run("bench:scan"), /"gb_per_s":/);
});

test("fuzz ends after its time", () => {
  assert.notEqual(run("fuzz", "--minutes", "0.05", "--seed", "1"), "");
});

test("mock-gpu:shapes writes a page", (t) => {
  const folder = mkdtempSync(join(tmpdir(), "smetric-shapes-"));
  t.after(() => rmSync(folder, { recursive: true }));
  run("mock-gpu:shapes", "--html", join(folder, "shapes.html"));
  assert.match(readFileSync(join(folder, "shapes.html"), "utf8"), /<html/);
});
