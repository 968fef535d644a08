// SPDX-License-Identifier: Apache-2.0
// A real Envoy shows what the contract says: the same script runs against the virtual one (tests/host/contract).
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { buildProbe, buildUnloadable } from "../host/probe.ts";
import { startRealWorld } from "../host/contract/real-world.ts";
import { REFUSALS, SITUATIONS } from "../host/contract/situations.ts";
import type { Situation, World } from "../host/contract/world.ts";

/** Situations that share one Envoy. */
const groups = new Map<string, Situation[]>();
for (const situation of SITUATIONS) {
  const key = JSON.stringify(situation.setup);
  groups.set(key, [...(groups.get(key) ?? []), situation]);
}

/** Most of the time is spent waiting: several Envoys wait side by side. */
const ENVOYS_AT_ONCE = 4;

describe("The contract on a real Envoy", { concurrency: ENVOYS_AT_ONCE }, () => {
  for (const [key, situations] of groups) {
    describe(`Setup ${key}`, { concurrency: false }, () => {
      let world: World;
      before(async () => {
        world = await startRealWorld(situations[0]!.setup, await buildProbe());
      });
      after(() => world.close());

      for (const { name, run, expect } of situations) {
        it(name, async () => assert.deepEqual(await run(world), expect));
      }
    });
  }

  for (const { name, setup, unloadable } of REFUSALS) {
    it(name, async () => {
      const wasm = unloadable ? await buildUnloadable() : await buildProbe();
      await assert.rejects(startRealWorld(setup, wasm));
    });
  }
});
