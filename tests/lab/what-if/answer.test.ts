// SPDX-License-Identifier: Apache-2.0
// Whether users would notice is said only where every replay shows it.
import assert from "node:assert/strict";
import { it } from "node:test";
import { mattersLine } from "../../../lab/what-if/answer.ts";
import type { LoadPoint } from "../../../lab/what-if/study.ts";
import { measure, type Measures } from "../../../lab/replay/measures/measures.ts";

const EMPTY = measure({
  ...{ arm: "", endpoints: 1, records: [], finishedSessions: new Set<string>() },
  ...{ unfinishedSessions: 0, measureFromMs: 0, endMs: 1 },
});

const withSpeed = (tps_slo: number): Measures => ({ ...EMPTY, tps_slo });

/** A load at which today's balancing serves 100 tokens/s with each seed, and the filter these. */
function pointAt(load: number, speeds: number[]): LoadPoint {
  const arm = (values: number[]): LoadPoint["now"] => ({
    ...EMPTY,
    by_seed: values.map(withSpeed),
  });
  const same_jobs = { jobs: 0, now_s: 0, ours_s: 0 };
  return { load, now: arm(speeds.map(() => 100)), ours: arm(speeds), same_jobs };
}

it("it matters at every load, or from one load on, where all seeds say so", () => {
  const [low, high] = [pointAt(1, [120, 130]), pointAt(2, [150, 140])];
  assert.match(
    mattersLine([low, high]),
    /^it matters to users at every load that was tried: x1, x2/,
  );
  assert.match(
    mattersLine([pointAt(1, [101, 120]), high]),
    /^it matters to users from x2 the load/,
  );
});

it("it does not matter where no seed says so", () => {
  const points = [pointAt(1, [101, 100]), pointAt(2, [99, 104])];
  assert.match(
    mattersLine(points),
    /^it does not matter to users at any load that was tried: x1, x2/,
  );
});

it("it is open where the seeds disagree", () => {
  const points = [pointAt(1, [120, 130]), pointAt(2, [99, 140])];
  assert.match(mattersLine(points), /is open: they would notice in 3 of 4 replays .*a longer log/);
});
