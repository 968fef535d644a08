// SPDX-License-Identifier: Apache-2.0
// The study of routing: its budget, its second round, and figures that say what the runs say.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fromRoot } from "../../../cli/paths.ts";
import { writtenResults } from "../../../lab/evidence/conduct.ts";
import { readPacked } from "../../../lab/evidence/records.ts";
import { routingFigures } from "../../../lab/evidence/routing/analysis.ts";
import { PILOT_SEEDS, searchKnee } from "../../../lab/evidence/routing/knees.ts";
import { CELLS, OURS, SEEDS } from "../../../lab/evidence/routing/regimes.ts";
import { REPEAT_SEEDS, repeatStudy } from "../../../lab/evidence/routing/repeat.ts";
import { routingStudy } from "../../../lab/evidence/routing/routing-study.ts";
import { gridOf, topLoads } from "../../../lab/evidence/routing/runs.ts";
import type { Results, RunMeasures, RunSpec, Size } from "../../../lab/evidence/study.ts";

const SPREAD = { mean: 1, p50: 1, p90: 2, p95: 3, p99: 4 };

/** Results in which `winner` is ahead of all, and the default policy right behind it. */
function madeUp(winner: string): Results {
  return {
    get(spec: RunSpec) {
      const goodput = spec.arm === winner ? 200_000 : spec.arm === OURS ? 196_000 : 100_000;
      const tps_slo = goodput + spec.seed;
      return {
        ...{ tps_slo, prefill_tps_slo: tps_slo, hit_rate: 0.93, hit_possible: 0.95 },
        ...{ hit_rate_local: 0.9, hit_rate_global: 0.03, recomputed: 0.02 },
        ...{ ttft_ms: SPREAD, tpot_ms: SPREAD, jct_s: SPREAD, requests: 100, migrations: 4 },
        ...{ load_cv: 0.2, load_max_over_mean: 1.2 },
      } as unknown as RunMeasures;
    },
  };
}

/** All runs are done. */
function specsOf(size: Size): RunSpec[] {
  return routingStudy.runs(size, madeUp("lmetric"));
}

describe("the study of routing", () => {
  it("keeps to what it announces, 400 runs by default", () => {
    assert.ok(specsOf("default").length <= 400, `${specsOf("default").length}`);
    for (const size of ["quick", "default", "full"] as const)
      assert.ok(specsOf(size).length <= routingStudy.mostRuns(size), size);
  });

  it("repeats the best arms at the two highest loads", () => {
    const grid = gridOf("default");
    assert.deepEqual(topLoads(grid), [1, 1.15]);
    const repeated = specsOf("default").filter(({ seed }) => !grid.seeds.includes(seed));
    for (const cell of grid.cells) {
      const rates = repeated
        .filter((spec) => spec.cell === cell.name)
        .map(({ load }) => ("ratePerS" in load ? load.ratePerS : NaN));
      const expected = [1, 1.15].map((share) => Number((cell.kneePerS * share).toPrecision(3)));
      assert.deepEqual([...new Set(rates)], expected);
    }
  });

  it("repeats a cell at every load, with the arms that the study found best", () => {
    const done = madeUp("lmetric");
    const study = repeatStudy(CELLS[0]!, done);
    const specs = study.runs("default", done);
    assert.equal(specs.length, 3 * 3 * REPEAT_SEEDS.length);
    assert.equal(study.mostRuns("default"), specs.length);
    assert.ok(SEEDS.every((seed) => REPEAT_SEEDS.includes(seed)));
    const [ours, lmetric] = study.findings("default", done).tables[0]!.rows;
    assert.deepEqual(ours!.slice(0, 2), [OURS, "196 k"]);
    assert.equal(ours!.at(-1), "98.0");
    assert.deepEqual(lmetric!.slice(0, 2), ["lmetric", "200 k (-2.0 %, 0 of 13)"]);
  });

  it("reports the odd sessions alone", () => {
    assert.ok(specsOf("full").every((spec) => spec.half === "odd"));
  });

  it("asks for more seeds only when the first one is known", () => {
    const nothing: Results = { get: () => undefined };
    const first = routingStudy.runs("default", nothing);
    const { seeds } = gridOf("default");
    assert.ok(first.every((spec) => seeds.includes(spec.seed)));
    const more = specsOf("default").filter((spec) => !seeds.includes(spec.seed));
    assert.ok(more.length > 0);
    assert.deepEqual(
      [...new Set(more.map((spec) => spec.arm))].sort(),
      ["lmetric", OURS, "sticky"].sort(),
    );
  });

  it("holds the default policy against the best of each cell", () => {
    const { cells, colocated_gains } = routingFigures("default", madeUp("lmetric"));
    for (const cell of cells) {
      const ours = cell.contest.find((each) => each.arm === OURS)!;
      assert.ok(Math.abs(ours.of_best - 0.98) < 1e-3, `${ours.of_best}`);
      assert.ok(Math.abs(cell.reuse - 0.93 / 0.95) < 1e-9);
    }
    const least = colocated_gains.find((gain) => gain.arm === "least-request")!;
    assert.ok(Math.abs(least.median - 0.96) < 1e-3, `${least.median}`);
  });

  it("says in its text what its figures say, at every size", () => {
    for (const size of ["quick", "default", "full"] as const) {
      const { markdown, panels } = routingStudy.findings(size, madeUp("lmetric"));
      assert.match(markdown, /reaches at least 98\.0 % of the best arm in every colocated cell/);
      assert.match(markdown, /What these numbers are not/);
      assert.doesNotMatch(markdown, /NaN|undefined|null/);
      for (const { labels, series } of panels)
        for (const { values } of series) assert.equal(values.length, labels.length);
    }
  });
});

/** A fleet that serves all it is sent up to a load, and then less and less. */
function peakedAt(kneePerS: number): Results {
  return {
    get(spec: RunSpec) {
      const rate = "ratePerS" in spec.load ? spec.load.ratePerS : NaN;
      const tps_slo = rate <= kneePerS ? rate : kneePerS - 3 * (rate - kneePerS);
      return { tps_slo, prefill_tps_slo: tps_slo } as unknown as RunMeasures;
    },
  };
}

describe("the search for a knee", () => {
  const [cell] = CELLS;

  it("finds the load at which goodput peaks, to a tenth", () => {
    for (const kneePerS of [0.2, 0.33, 0.47, 0.7]) {
      const { kneePerS: found } = searchKnee(cell!, peakedAt(kneePerS));
      assert.ok(found! <= kneePerS * 1.06 && found! >= kneePerS / 1.11, `${found} ${kneePerS}`);
    }
  });

  it("asks for what it needs next, and ends", () => {
    const known = new Map<string, RunMeasures>();
    const done: Results = { get: (spec) => known.get(JSON.stringify(spec)) };
    let rounds = 0;
    for (;;) {
      const { kneePerS, runs } = searchKnee(cell!, done);
      const missing = runs.filter((spec) => done.get(spec) === undefined);
      if (missing.length === 0) {
        assert.equal(kneePerS, 0.42);
        break;
      }
      assert.ok(++rounds < 20);
      for (const spec of missing) known.set(JSON.stringify(spec), peakedAt(0.43).get(spec)!);
    }
    assert.ok(known.size < 60, `${known.size}`);
  });

  it("found the loads of the study in the runs that are written down", () => {
    const done = writtenResults(readPacked(fromRoot("docs", "results", "knees.ndjson.gz")));
    for (const each of CELLS) assert.equal(searchKnee(each, done).kneePerS, each.kneePerS);
  });

  it("uses no seed that the study reports", () => {
    for (const seed of PILOT_SEEDS) assert.ok(!SEEDS.includes(seed));
  });
});
