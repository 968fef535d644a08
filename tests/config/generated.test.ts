// SPDX-License-Identifier: Apache-2.0
// Generated files are committed, and are what their sources ask for.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { generateFiles } from "../../cli/generating/generated-files.ts";
import { fromRoot } from "../../cli/paths.ts";

for (const { path, content } of await generateFiles()) {
  test(`${path} is fresh`, () => {
    assert.equal(readFileSync(fromRoot(path), "utf8"), content, "run `npm run generate`");
  });
}
