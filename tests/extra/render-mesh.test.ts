// SPDX-License-Identifier: Apache-2.0
// Istio's and Envoy Gateway's own code still makes of the manifests what is kept as fixtures. Needs Go.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import { CASES } from "../../cli/rendering/cases.ts";
import { fixtureOf, fixtureText, Renderer } from "../../cli/rendering/render.ts";

const renderer = new Renderer();
after(() => renderer.close());

for (const each of CASES) {
  test(`${each.name} renders as it did: npm run render:mesh writes no other fixture`, async () => {
    const file = fixtureOf(each.name);
    assert.ok(existsSync(file), `${file} is missing`);
    assert.equal(fixtureText(each, await renderer.render(each)), readFileSync(file, "utf8"));
  });
}
