// SPDX-License-Identifier: Apache-2.0
// The study of routing: its budget, its second round, and figures that say what the runs say.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { routingFigures } from "../../../lab/evidence/routing/analysis.ts";
import { OURS } from "../../../lab/evidence/routing/regimes.ts";
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

  it("repeats the best arms at the loads around the peak of their cell", () => {
    const peaked: Results = {
      get(spec) {
        const load = "ratePerS" in spec.load ? spec.load.ratePerS : 0;
        const measures = madeUp("lmetric").get(spec)!;
        // Less with more load: the two lowest loads of every cell are its best.
        const tps_slo = measures.tps_slo * (1 - load);
        return { ...measures, tps_slo, prefill_tps_slo: tps_slo };
      },
    };
    const { loads } = gridOf("default");
    for (const cell of gridOf("default").cells)
      assert.deepEqual(topLoads(gridOf("default"), cell, peaked), loads.slice(0, 2));
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
