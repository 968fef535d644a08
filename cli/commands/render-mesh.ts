// SPDX-License-Identifier: Apache-2.0
// The render:mesh command: puts every manifest through the real control planes and keeps what their Envoys get.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Failure } from "../failure.ts";
import { CASES } from "../rendering/cases.ts";
import { fixtureOf, fixtureText, Renderer } from "../rendering/render.ts";

/**
 * Renders the cases whose name contains `only`, and writes their fixtures.
 * @throws Failure when no case is meant, Go is missing, or a control plane refuses a manifest
 */
export async function renderMesh(only = ""): Promise<void> {
  const cases = CASES.filter(({ name }) => name.includes(only));
  if (cases.length === 0) {
    const names = CASES.map(({ name }) => name).join(", ");
    throw new Failure(`no case contains "${only}"; there are ${names}`);
  }
  const renderer = new Renderer();
  try {
    for (const each of cases) {
      const file = fixtureOf(each.name);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, fixtureText(each, await renderer.render(each)));
      console.log(file);
    }
  } finally {
    renderer.close();
  }
}
