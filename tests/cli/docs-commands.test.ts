// SPDX-License-Identifier: Apache-2.0
// The commands of the documentation that end by themselves, run as they stand, page by page.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fromRoot } from "../../cli/paths.ts";
import { linesOf, madeUpRecords } from "../lab/what-if/rows.ts";

/** Commands that do one thing and end; what serves or replays has tests of its own. */
const FINITE = ["inspect", "init", "check", "image", "what-if", "tune"];

/** What the pages call a user's access log: four endpoints in turn. */
const TRAFFIC = {
  ...{ sessions: 8, turns: 12 },
  place: (session: number, turn: number) => `10.0.0.${(session + turn) % 4}:8000`,
};

const PAGES = [
  "README.md",
  ...readdirSync(fromRoot("docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** Arguments of the command line in each shell line that names one of the finite commands. */
function commandsOf(page: string): string[][] {
  const text = readFileSync(fromRoot(page), "utf8");
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)]
    .flatMap(([, block = ""]) => block.split("\n"))
    .map((line) => /^(?:npx smetric-envoy|npm run(?: -s)?) (.+)$/.exec(line)?.[1] ?? "")
    .map((line) => line.split(/\s+/).filter((word) => word !== "--"))
    .filter(([name = ""]) => FINITE.includes(name));
}

for (const page of PAGES) {
  const commands = commandsOf(page);
  if (commands.length === 0) continue;
  test(`the commands of ${page} work in the order of the page`, (t) => {
    const folder = mkdtempSync(join(tmpdir(), "smetric-docs-"));
    t.after(() => rmSync(folder, { recursive: true }));
    // What the pages call the user's own files.
    const body = fromRoot("tests/fixtures/dialects/01-chat-first-string.json");
    for (const name of ["first.json", "second.json"]) copyFileSync(body, join(folder, name));
    writeFileSync(join(folder, "access.log"), linesOf(madeUpRecords(TRAFFIC)));
    for (const args of commands) {
      const launcher = fromRoot("cli", "smetric-envoy.mjs");
      const result = spawnSync(process.execPath, [launcher, ...args], { cwd: folder });
      assert.equal(result.status, 0, `${args.join(" ")}\n${result.stderr.toString()}`);
      assert.notEqual(result.stdout.toString(), "", args.join(" "));
    }
  });
}
