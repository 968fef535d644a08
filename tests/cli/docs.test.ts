// SPDX-License-Identifier: Apache-2.0
// What the documentation says is there: commands, links, options and their defaults.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { allCommands } from "../../cli/main.ts";
import { readMetrics } from "../../cli/generating/metrics-table.ts";
import { readSchema } from "../../cli/generating/options-schema.ts";
import { fromRoot } from "../../cli/paths.ts";

const PAGES = [
  ...["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"],
  ...readdirSync(fromRoot("docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

const readPage = (page: string): string => readFileSync(fromRoot(page), "utf8");

const { scripts } = JSON.parse(readPage("package.json")) as { scripts: Record<string, string> };

const COMMANDS = new Map(allCommands().map((command) => [command.name(), command]));

/** Lines of shell blocks and of indented ones, without comments. */
function commandsOf(text: string): string[] {
  const blocks = [...text.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block);
  const indented = [...text.matchAll(/^ {4}(?=npm |npx )(.*)$/gm)].map(([, line = ""]) => line);
  return [...blocks, ...indented]
    .flatMap((block) => block.split("\n"))
    .map((line) => line.replace(/ #.*$/, "").trim())
    .filter((line) => line !== "");
}

/** The command of ours in a line, and what it is given; undefined where another program is called. */
function parseLine(line: string): { name: string; args: string[] } | undefined {
  const [, name, rest] =
    /(?:^|\s)(?:npm (?:run )?(?:-s )?|npx smetric-envoy )([a-z:-]+)(.*)$/.exec(line) ?? [];
  if (name === undefined || rest === undefined || line.startsWith("npm ci")) return undefined;
  return { name, args: rest.split(/\s+/).filter((word) => word !== "" && word !== "--") };
}

for (const page of PAGES) {
  test(`the commands of ${page} exist and know their flags`, () => {
    for (const line of commandsOf(readPage(page))) {
      const called = parseLine(line);
      if (called === undefined) continue;
      const command = COMMANDS.get(called.name);
      assert.ok(command, line);
      assert.deepEqual(command.parseOptions(called.args).unknown, [], line);
    }
  });

  test(`the links of ${page} lead somewhere`, () => {
    for (const [, target = ""] of readPage(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^https?:/.test(target)) continue;
      assert.ok(existsSync(join(dirname(fromRoot(page)), target)), target);
    }
  });
}

test("every reason of a decision and every field of a record is explained", () => {
  const page = readPage("docs/decisions.md");
  const family = readMetrics().find(({ stat }) => stat === "smetric_decisions.reason");
  const reasons = family?.values?.map(({ value }) => value) ?? [];
  const source = readFileSync(fromRoot("assembly/filter/record.ts"), "utf8");
  const fields = [...source.matchAll(/[,{]"([a-z_]+)":/g)].map(([, field]) => String(field));
  assert.ok(reasons.length > 5 && fields.length > 20);
  const inBoundaries = ["hash", "runs", "tokens"];
  for (const word of [...reasons, ...fields.filter((field) => !inBoundaries.includes(field))]) {
    assert.ok(page.includes(`\`${word}\``), word);
  }
});

test("every alert comes with what to do about it", () => {
  const page = readPage("docs/operations.md");
  const alerts = [...readPage("deploy/observability/alerts.yaml").matchAll(/- alert: (\w+)/g)];
  assert.ok(alerts.length > 0);
  for (const [, alert] of alerts) assert.ok(page.includes(`| \`${alert}\` |`), alert);
});

test("every script of package.json is a command of the same name", () => {
  for (const [name, command] of Object.entries(scripts)) {
    if (name === "prepack") continue;
    assert.equal(command, `node cli/smetric-envoy.mjs ${name}`);
    assert.ok(COMMANDS.has(name), name);
  }
});

test("the options that the README shows have the defaults that it says", () => {
  const { fields } = readSchema();
  const rows = [...readPage("README.md").matchAll(/^\| `([a-z_.]+)` \| (.+?) \|/gm)];
  assert.ok(rows.length > 0);
  for (const [, path = "", shown = ""] of rows) {
    const field = fields.find((each) => each.path === path);
    assert.ok(field, `${path} is not an option`);
    const given = field.node.default;
    const mebibytes = typeof given === "number" ? `${given / (1 << 20)} MiB` : undefined;
    const says = [`\`${String(given)}\``, `\`${JSON.stringify(given)}\``, mebibytes];
    assert.ok(says.includes(shown) || (given === "" && shown === "none"), `${path}: ${shown}`);
  }
});
