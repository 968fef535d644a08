// SPDX-License-Identifier: Apache-2.0
// Istio's and Envoy Gateway's own code still makes of the manifests what is kept as fixtures. Needs Go.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { after, test } from "node:test";
import { CASES, type RenderCase } from "../../cli/rendering/cases.ts";
import { fixtureOf, fixtureText, Renderer } from "../../cli/rendering/render.ts";

const renderer = new Renderer();
const artifactRenderer = new Renderer("artifact");
after(() => {
  renderer.close();
  artifactRenderer.close();
});

async function assertAsKept(by: Renderer, each: RenderCase): Promise<void> {
  const file = fixtureOf(each.name);
  assert.ok(existsSync(file), `${file} is missing`);
  assert.equal(fixtureText(each, await by.render(each)), readFileSync(file, "utf8"));
}

for (const each of CASES) {
  test(`${each.name} renders as it did: npm run render:mesh writes no other fixture`, () =>
    assertAsKept(renderer, each));
}

for (const name of ["istio-route", "envoy-gateway-route"]) {
  test(`${name} renders the same from an OCI artifact: it is fetched as well as the image`, async () => {
    const each = CASES.find((of) => of.name === name);
    assert.ok(each);
    await assertAsKept(artifactRenderer, each);
  });
}
