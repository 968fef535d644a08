// SPDX-License-Identifier: Apache-2.0
// Every option does something: the filter reads it outside the room that parses it.
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readSchema } from "../../cli/generating/options-schema.ts";
import { fromRoot } from "../../cli/paths.ts";

const sources = readdirSync(fromRoot("assembly"), { recursive: true, encoding: "utf8" })
  .filter((name) => name.endsWith(".ts") && !name.startsWith("config"))
  .map((name) => readFileSync(join(fromRoot("assembly"), name), "utf8"))
  .join("\n");

for (const { path, property } of readSchema().fields) {
  test(`the filter reads ${path}`, () => {
    assert.ok(new RegExp(`\\.${property}\\b`).test(sources), `nothing reads ${property}`);
  });
}
