// SPDX-License-Identifier: Apache-2.0
// The launcher bundles the command line at every start: commands that start together share what it writes.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { fromRoot } from "../../cli/paths.ts";

const AT_ONCE = 8;
/** One after the other, so that some read what others write. */
const APART_MS = 30;
/** Long enough that writing it takes a while. */
const WORDS = 4_000_000;
const MAIN = `export async function main() {
  const { words } = await import("./words.ts");
  console.log(words.length);
}
`;

/** A tree with the launcher and a command line of two chunks. */
function madeUpTree(): string {
  const root = mkdtempSync(join(tmpdir(), "smetric-launcher-"));
  mkdirSync(join(root, "cli"));
  copyFileSync(fromRoot("cli", "smetric-envoy.mjs"), join(root, "cli", "smetric-envoy.mjs"));
  writeFileSync(join(root, "cli", "main.ts"), MAIN);
  writeFileSync(join(root, "cli", "words.ts"), `export const words = "${"w".repeat(WORDS)}";\n`);
  symlinkSync(fromRoot("node_modules"), join(root, "node_modules"));
  return root;
}

async function launch(root: string, index: number): Promise<string> {
  await setTimeout(index * APART_MS);
  const child = spawn(process.execPath, [join(root, "cli", "smetric-envoy.mjs")]);
  const [said, complaint] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return said + complaint;
}

test("commands that start at the same time do not disturb each other", async (t) => {
  const root = madeUpTree();
  t.after(() => rmSync(root, { recursive: true }));
  const all = await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => launch(root, index)));
  assert.deepEqual(all, Array<string>(AT_ONCE).fill(`${WORDS}\n`));
});
