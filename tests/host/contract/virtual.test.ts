// SPDX-License-Identifier: Apache-2.0
// The virtual Envoy shows what the contract says that a real one shows.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { LoadFailure } from "../../../lab/virtual-envoy/index.ts";
import { buildProbe, buildUnloadable } from "../probe.ts";
import { REFUSALS, SITUATIONS } from "./situations.ts";
import { startVirtualWorld } from "./virtual-world.ts";

describe("The contract in the virtual Envoy", () => {
  for (const { name, setup, run, expect } of SITUATIONS) {
    it(name, async () => {
      const world = await startVirtualWorld(setup, await buildProbe());
      assert.deepEqual(await run(world), expect);
      await world.close();
    });
  }

  for (const { name, setup, unloadable } of REFUSALS) {
    it(name, async () => {
      const wasm = unloadable ? await buildUnloadable() : await buildProbe();
      await assert.rejects(startVirtualWorld(setup, wasm), LoadFailure);
    });
  }
});
