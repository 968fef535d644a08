// SPDX-License-Identifier: Apache-2.0
// The study of routing policies.
import type { Findings, Results, RunSpec, Size, Study } from "../study.ts";
import { CELLS, specOf } from "./regimes.ts";

export const routingStudy: Study = {
  name: "routing",
  title: "Routing policies",
  secondsPerRun: 3,
  mostRuns: () => 2,
  runs(): RunSpec[] {
    return CELLS.flatMap((cell) => ["priced", "linear"].map((arm) => specOf(cell, arm, 1, 1)));
  },
  findings(size: Size, done: Results): Findings {
    const specs = routingStudy.runs(size, done);
    const rows = specs.map((spec) => [spec.arm, String(done.get(spec)?.tps_slo)]);
    const table = { title: "Tokens", head: ["arm", "tokens/s"], rows };
    return { markdown: "", panels: [], tables: [table], figures: {} };
  },
};
