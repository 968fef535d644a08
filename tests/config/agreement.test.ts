// SPDX-License-Identifier: Apache-2.0
// The filter itself, compiled, and the schema agree on what may be loaded; the filter says why not.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { buildFilter } from "../../cli/build.ts";
import { checkText } from "../../cli/checking/documents.ts";
import { fromRoot } from "../../cli/paths.ts";
import { LoadFailure, VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";

interface Cases {
  good: string[];
  bad: { text: string; says: string }[];
}

const cases = JSON.parse(
  readFileSync(fromRoot("tests/fixtures/configuration/cases.json"), "utf8"),
) as Cases;

const module = readFileSync(await buildFilter("release"));

function load(configuration: string): void {
  const envoy = new VirtualEnvoy({ wasm: module, configuration, endpoints: ["10.0.0.1:8000"] });
  envoy.close();
}

for (const text of ["", ...cases.good]) {
  test(`the filter loads ${JSON.stringify(text)}`, () => {
    load(text);
  });
}

for (const { text, says } of cases.bad) {
  test(`the filter refuses ${JSON.stringify(text)} and says why`, () => {
    assert.throws(
      () => load(text),
      (fault: unknown) => fault instanceof LoadFailure && fault.message.includes(says),
    );
  });
}

test("check says of an unknown or misplaced option what the filter says", () => {
  for (const { text, says } of cases.bad) {
    if (!says.includes("did you mean") && !says.endsWith("an object is")) continue;
    const [finding] = checkText(text).findings;
    assert.ok(finding?.message.includes(says), `${text}: ${finding?.message}`);
  }
});

test("check says of fields that cannot work together what the filter says", () => {
  const combinations = cases.bad.filter(({ says }) => / not allowed with/.test(says));
  assert.ok(combinations.length > 0);
  for (const { text, says } of combinations) {
    const messages = checkText(text).findings.map(({ message }) => message);
    assert.deepEqual(messages, [says], text);
  }
});

test("check warns of admission that the policy takes the sense of", () => {
  const text = '{"policy":"least-request","admission":{"enabled":true}}';
  const [finding] = checkText(text).findings;
  assert.equal(finding?.severity, "warning");
  load(text);
});

test("check names the field that the filter names", () => {
  for (const { text, says } of cases.bad) {
    const path = /^([a-z_.]+): /.exec(says)?.[1];
    if (path === undefined) continue;
    const [finding] = checkText(text).findings;
    assert.ok(finding?.message.startsWith(`${path}: `), `${text}: ${finding?.message}`);
  }
});

test("a field that is given twice is refused, though JSON readers take the last", () => {
  assert.throws(() => load('{"tick_ms":50,"tick_ms":60}'), /tick_ms is given twice/);
});
