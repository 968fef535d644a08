// SPDX-License-Identifier: Apache-2.0
// The streaming reader agrees with a plain one on made-up conversations, however written, damaged and cut.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ReaderModule } from "../../lab/bench/reader-module.ts";
import { Differential } from "./reference/differential.ts";

const BODIES = 3_000;
const MOST_SHOWN = 5;

describe("the streaming reader", () => {
  it(`agrees with the plain one on ${BODIES} bodies`, async () => {
    const differential = new Differential(await ReaderModule.load());
    const shown: string[] = [];
    for (let seed = 1; seed <= BODIES && shown.length < MOST_SHOWN; seed++) {
      const { body, faults } = differential.play(seed);
      if (faults.length > 0)
        shown.push(`seed ${seed}: ${faults.join("; ")}\n${Buffer.from(body).toString()}`);
    }
    assert.deepEqual(shown, []);
  });
});
