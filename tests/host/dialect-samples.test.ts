// SPDX-License-Identifier: Apache-2.0
// Every request sample of the three dialects of agents, at every size of chunk, against what it is known to be.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, describe, it } from "node:test";
import { fromRoot } from "../../cli/paths.ts";
import { type Answer, ReaderModule } from "../../lab/bench/reader-module.ts";

const FOLDER = fromRoot("tests/fixtures/dialects");
const DIALECTS = /^(openai|mistral|vllm)-chat|^responses|^openai-responses|^anthropic/;
const CHUNK_SIZES = [1, 2, 3, 7, 64];

interface Sample {
  file: string;
  path: string;
  turn: number;
  /** The server holds the history: the turn is a lower bound. */
  atLeast: boolean;
  lastModelEndByte: number;
  headers: [string, string][];
  sessionSource: string;
  body: Uint8Array;
}

function sessionSource(column: string): string {
  const inBody = /^body (\w+)=|^(conversation\.id)=/.exec(column);
  if (inBody) return `body ${inBody[1] ?? inBody[2]}`;
  return column === "thread-id" ? column : "chain";
}

function readSamples(): Sample[] {
  const rows = readFileSync(`${FOLDER}/index.tsv`, "utf8").trimEnd().split("\n").slice(1);
  return rows
    .map((row) => row.split("\t"))
    .filter(([, dialect = ""]) => DIALECTS.test(dialect))
    .map(([file = "", dialect = "", turn = "", , , headers = "", session = "", end = ""]) => ({
      file,
      path: dialect.replace(/^.*POST /, ""),
      turn: Number(/\d+/.exec(turn)?.[0]),
      atLeast: /^>=|^unknown/.test(turn),
      lastModelEndByte: end === "" ? -1 : Number(end),
      headers: headers === "" ? [] : [headers.split(": ") as [string, string]],
      sessionSource: sessionSource(session),
      body: readFileSync(`${FOLDER}/${file}`),
    }));
}

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
