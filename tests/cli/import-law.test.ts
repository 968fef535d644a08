// SPDX-License-Identifier: Apache-2.0
// The import law holds in the house, and the check would notice if it did not.
import assert from "node:assert/strict";
import { test } from "node:test";
import { checkImportLaw, findImports, judge } from "../../cli/linting/import-law.ts";

test("every import of the house goes down the list of rooms", () => {
  assert.deepEqual(checkImportLaw(), []);
});

test("static, type-only, re-exporting and dynamic imports are all found", () => {
  const source = [
    'import { a } from "./a.ts";',
    'import type { B } from "../b.ts";',
    'export * from "./c.ts";',
    'const d = await import("./d.ts");',
    'import "./e.ts";',
    'import { f } from "node:fs";',
  ].join("\n");
  assert.deepEqual(
    findImports("cli/x/file.ts", source).map(({ to }) => to),
    ["cli/x/a.ts", "cli/b.ts", "cli/x/c.ts", "cli/x/d.ts", "cli/x/e.ts"],
  );
});

const FORBIDDEN: [string, string][] = [
  ["assembly/request/chain.ts", "assembly/memory/affinity"],
  ["assembly/memory/affinity.ts", "assembly/host/clock"],
  ["assembly/scheduling/decision.ts", "assembly/filter/stream"],
  ["assembly/hash/text.ts", "assembly/json/scanner"],
  ["lab/mock-gpu/engine.ts", "lab/virtual-envoy/host.ts"],
  ["lab/mock-gpu/engine.ts", "assembly/hash/hash.ts"],
  ["lab/replay/report.ts", "cli/commands/test.ts"],
  ["envoy/launcher.ts", "lab/mock-gpu/server.ts"],
];

for (const [from, to] of FORBIDDEN) {
  test(`${from} may not import ${to}`, () => {
    assert.notEqual(judge({ from, to }), undefined);
  });
}

const ALLOWED: [string, string][] = [
  ["assembly/index.ts", "assembly/host/abort"],
  ["assembly/filter/root.ts", "assembly/scheduling/decision"],
  ["assembly/scheduling/decision.ts", "assembly/metrics/reason"],
  ["cli/main.ts", "lab/replay/start.ts"],
  ["lab/replay/start.ts", "envoy/launcher.ts"],
  ["envoy/launcher.ts", "cli/failure.ts"],
  ["tests/config/schema.test.ts", "assembly/config/options.schema.json"],
];

for (const [from, to] of ALLOWED) {
  test(`${from} may import ${to}`, () => {
    assert.equal(judge({ from, to }), undefined);
  });
}
