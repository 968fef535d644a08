// SPDX-License-Identifier: Apache-2.0
// The JSON Schema of the options by itself: valid, complete, and of one mind with its own defaults.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { readSchema } from "../../cli/generating/options-schema.ts";
import { fromRoot } from "../../cli/paths.ts";

const { root, fields } = readSchema();
const validate = new Ajv2020({ allErrors: true, strict: true }).compile(root);

interface Cases {
  good: string[];
  bad: { text: string; says: string }[];
}

const cases = JSON.parse(
  readFileSync(fromRoot("tests/fixtures/configuration/cases.json"), "utf8"),
) as Cases;

function isValid(text: string): boolean {
  try {
    return validate(JSON.parse(text));
  } catch {
    return false; // Not JSON.
  }
}

test("the defaults are allowed values", () => {
  const defaults: Record<string, unknown> = {};
  for (const { path, node } of fields) {
    const names = path.split(".");
    const last = names.pop() ?? "";
    let group = defaults;
    for (const name of names) group = (group[name] ??= {}) as Record<string, unknown>;
    group[last] = node.default;
  }
  assert.ok(validate(defaults), JSON.stringify(validate.errors));
});

test("every field says what it is for in a sentence", () => {
  for (const { path, description } of fields) assert.match(description, /[.]$/, path);
});

for (const text of cases.good) {
  test(`the schema accepts ${JSON.stringify(text)}`, () => {
    assert.ok(isValid(text), JSON.stringify(validate.errors));
  });
}

for (const { text } of cases.bad) {
  test(`the schema refuses ${JSON.stringify(text)}`, () => {
    assert.ok(!isValid(text));
  });
}
