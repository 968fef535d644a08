// SPDX-License-Identifier: Apache-2.0
// The study of admission on made-up results: which runs it asks for, and what it says about them.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { admissionStudy } from "../../../lab/evidence/admission/admission-study.ts";
import type { Results, RunMeasures, RunSpec } from "../../../lab/evidence/study.ts";

const NOTHING: Results = { get: () => undefined };

function spread(value: number) {
  return { mean: value, p50: value, p90: value, p95: value, p99: value };
}

/** Without admission half is done; a window of 1 does 95 %, and so does AIMD half as well. */
function measuresOf({ arm, configuration }: RunSpec): RunMeasures {
  const isLimited = JSON.stringify(configuration ?? {}) === '{"admission":{}}';
  const shares: Record<string, number> = {
    sticky: 50,
    "sticky+aimd": 70,
    "sticky+fixed:1": 95,
    "sticky+learned": isLimited ? 75 : 100,
  };
  const tps = (shares[arm] ?? 60) * 1000;
  return {
    tps,
    requests: 100,
    prompt_tokens: 7_500_000,
    hit_rate: tps / 110_000,
    hit_possible: 0.97,
    ttft_ms: spread(100),
    hold_s: spread(arm === "sticky" ? 0 : 2),
    hold_longest_s: arm === "sticky" ? 0 : 600,
    jct_s: spread(100_000_000 / tps),
    unfinished_jobs: 0,
  } as unknown as RunMeasures;
}

const EVERYTHING: Results = { get: measuresOf };

describe("the study of admission", () => {
  it("searches the best window with one seed and plays it with the others", () => {
    const first = admissionStudy.runs("default", NOTHING);
    const windows = (specs: RunSpec[]) => specs.filter(({ arm }) => arm.includes("fixed"));
    assert.deepEqual([...new Set(windows(first).map(({ seed }) => seed))], [1]);
    const more = windows(admissionStudy.runs("default", EVERYTHING)).filter(({ seed }) => seed > 1);
    assert.ok(more.length > 0);
    assert.deepEqual([...new Set(more.map(({ arm }) => arm))], ["sticky+fixed:1"]);
  });

  it("asks for each run once, and for no more than it announces", () => {
    for (const size of ["quick", "default", "full"] as const) {
      const specs = admissionStudy.runs(size, EVERYTHING).map((spec) => JSON.stringify(spec));
      assert.equal(new Set(specs).size, specs.length);
      assert.ok(specs.length <= admissionStudy.mostRuns(size));
    }
  });

  it("holds its figures against the best window, none, and the default hold limit", () => {
    const { markdown, tables, panels } = admissionStudy.findings("default", EVERYTHING);
    assert.match(markdown, /learned is at 1\.05 on average, AIMD at 0\.74, at worst 0\.74/);
    assert.match(markdown, /2\.00 to 2\.00 where not everything fits/);
    assert.match(markdown, /50 % of the gain is left on average/);
    assert.match(markdown, /has 0\.50 of the mean job time/);
    assert.match(markdown, /120 x 1 M asks for 0\.97 of the capacity instead of 1\.13/);
    assert.deepEqual(
      tables.map(({ rows }) => rows.length > 0),
      [true, true, true, true],
    );
    assert.equal(panels.length, 2);
  });

  it("says of each target whether it is met", () => {
    const met = admissionStudy.findings("default", EVERYTHING).tables[0]!.rows;
    assert.deepEqual(
      met.map(([, found, verdict]) => `${found}: ${verdict}`),
      [
        "at worst 1.05 (40 x 0.3): met",
        "1.05: met",
        "2.00: met",
        "2.00 and 2.00: met",
        "0.50 of the mean (0.50 by the first 3 seeds alone), 0.50 of the p95: met",
      ],
    );
    const slower: Results = {
      get: (spec) => {
        const measures = measuresOf(spec);
        if (!spec.arm.includes("learned")) return measures;
        return { ...measures, tps: 0.6 * measures.tps, jct_s: spread(5_000) };
      },
    };
    const missed = admissionStudy.findings("default", slower).tables[0]!.rows;
    assert.deepEqual(new Set(missed.map((row) => row[2])), new Set(["missed"]));
  });

  it("says beside all seeds of the row with a target what the first ones alone say", () => {
    const later: Results = {
      get: (spec) => {
        const measures = measuresOf(spec);
        if (spec.arm === "sticky" || spec.seed <= 3) return measures;
        return { ...measures, jct_s: spread(100) };
      },
    };
    const more = admissionStudy.runs("default", later).filter(({ seed }) => seed > 3);
    assert.deepEqual([...new Set(more.map(({ seed }) => seed))], [4, 5, 6, 7]);
    assert.deepEqual([...new Set(more.map(({ cell }) => cell))], ["1 M, 0.09 a second"]);
    assert.equal(more.length, 12);
    const { markdown, tables } = admissionStudy.findings("default", later);
    assert.match(
      markdown,
      /has 0\.24 of the mean job time without admission \(over 7 seeds; 0\.50 by the first 3 seeds alone\)/,
    );
    const found = tables[0]!.rows.map((row) => row[1]);
    assert.ok(
      found.includes("0.24 of the mean (0.50 by the first 3 seeds alone), 0.24 of the p95"),
    );
  });

  it("says nothing of what has not been played", () => {
    const { markdown, panels } = admissionStudy.findings("default", NOTHING);
    assert.doesNotMatch(markdown, /NaN|undefined/);
    assert.deepEqual(panels, []);
  });
});
