// SPDX-License-Identifier: Apache-2.0
// What the documentation says is there: commands, links, options and their defaults.
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { commandNames } from "../../cli/main.ts";
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

/** Lines of shell blocks, without comments. */
function commandsOf(text: string): string[] {
  return [...text.matchAll(/```sh\n([\s\S]*?)```/g)]
    .flatMap(([, block = ""]) => block.split("\n"))
    .map((line) => line.replace(/#.*$/, "").trim())
    .filter((line) => line !== "");
}

for (const page of PAGES) {
  test(`the commands of ${page} exist`, () => {
    for (const command of commandsOf(readPage(page))) {
      const script = /^npm (?:run )?(?:-s )?([a-z:-]+)/.exec(command)?.[1];
      if (command.startsWith("npm ") && script !== "ci") {
        assert.ok(script !== undefined && script in scripts, command);
      }
      const direct = /^(?:npx )?smetric-envoy ([a-z:-]+)/.exec(command)?.[1];
      if (direct !== undefined) assert.ok(commandNames().includes(direct), command);
    }
  });

  test(`the links of ${page} lead somewhere`, () => {
    for (const [, target = ""] of readPage(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)) {
      if (/^https?:/.test(target)) continue;
      assert.ok(existsSync(join(dirname(fromRoot(page)), target)), target);
    }
  });
}

test("every script of package.json is a command of the same name", () => {
  for (const [name, command] of Object.entries(scripts)) {
    if (name === "prepack") continue;
    assert.equal(command, `node cli/smetric-envoy.mjs ${name}`);
    assert.ok(commandNames().includes(name), name);
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
