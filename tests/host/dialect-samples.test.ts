// SPDX-License-Identifier: Apache-2.0
// Every request sample of the three dialects of agents, at every size of chunk, against what it is known to be.
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { type Answer, ReaderModule } from "../../lab/bench/reader-module.ts";
import { readSamples, type Sample } from "./samples.ts";

const CHUNK_SIZES = [1, 2, 3, 7, 64];

/** All cuts of a body: even chunks and two random ones from a fixed seed. */
function cutsOf(sample: Sample, index: number): number[][] {
  const size = sample.body.length;
  const even = CHUNK_SIZES.map((chunk) => new Array<number>(Math.ceil(size / chunk)).fill(chunk));
  const random = [1, 2].map((round) => ((index + 1) * round * 7919) % size);
  return [...even, [Math.min(...random), Math.abs(random[0]! - random[1]!)]];
}

describe("a request sample", () => {
  let reader: ReaderModule;
  before(async () => {
    reader = await ReaderModule.load();
  });

  for (const [index, sample] of readSamples().entries()) {
    it(`${sample.file} is what it is, however it is cut`, () => {
      const { path, headers } = sample;
      const whole: Answer = reader.read(sample.body, { path, headers });
      if (sample.atLeast) assert.ok(whole.turn >= sample.turn && whole.historyHeld);
      else assert.equal(whole.turn, sample.turn);
      assert.equal(whole.lastModelEndByte, sample.lastModelEndByte);
      assert.equal(whole.sessionSource, sample.sessionSource);
      for (const chunks of cutsOf(sample, index)) {
        assert.deepEqual(reader.read(sample.body, { path, headers, chunks }), whole);
      }
    });
  }
});
