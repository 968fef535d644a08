// SPDX-License-Identifier: Apache-2.0
// Repeats the best arms of one cell on many more seeds and at all loads: where three seeds say little.
import { markdownTable } from "../markdown.ts";
import type { Findings, Results, RunSpec, Size, Study, TextTable } from "../study.ts";
import { type Cell, OURS, SEEDS, specOf } from "./regimes.ts";
import { bestArms, gridOf, meanGoodput } from "./runs.ts";
import { percent, signed, thousands } from "./tables.ts";

/** Those of the study, and ten that it does not use. */
export const REPEAT_SEEDS: readonly number[] = [...SEEDS, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70];

interface ArmMeans {
  arm: string;
  /** Mean goodput over the seeds, by load. */
  goodputs: number[];
  peak: number;
}

function meansOf(cell: Cell, arm: string, done: Results): ArmMeans {
  const { loads } = gridOf("default");
  const goodputs = loads.map((load) => meanGoodput(cell, arm, load, REPEAT_SEEDS, done) ?? NaN);
  return { arm, goodputs, peak: Math.max(...goodputs) };
}

/** Seeds on which the default policy does at least as much as another arm at a load. */
function seedsAhead(cell: Cell, arm: string, load: number, done: Results): number {
  const goodput = (of: string, seed: number) => meanGoodput(cell, of, load, [seed], done) ?? NaN;
  return REPEAT_SEEDS.filter((seed) => goodput(OURS, seed) >= goodput(arm, seed)).length;
}

function tableOf(cell: Cell, means: readonly ArmMeans[], done: Results): TextTable {
  const { loads } = gridOf("default");
  const ours = means.find((each) => each.arm === OURS)!;
  const best = Math.max(...means.map((each) => each.peak));
  const against = ({ arm, goodputs }: ArmMeans, at: number): string => {
    if (arm === OURS) return thousands(goodputs[at]!);
    const gain = signed(ours.goodputs[at]! / goodputs[at]! - 1);
    const ahead = seedsAhead(cell, arm, loads[at]!, done);
    return `${thousands(goodputs[at]!)} (${gain}, ${ahead} of ${REPEAT_SEEDS.length})`;
  };
  return {
    title: `${cell.name} on ${REPEAT_SEEDS.length} seeds`,
    head: ["arm", ...loads.map((load) => `${load} of the knee`), "peak, % of best"],
    rows: means.map((each) => [
      each.arm,
      ...loads.map((_, at) => against(each, at)),
      percent(each.peak / best, 1),
    ]),
  };
}

/**
 * `evidence --repeat`: no study of its own, but more seeds for one cell of the routing study.
 * @param written the runs of that study, which say which arms of the cell are best
 */
export function repeatStudy(cell: Cell, written: Results): Study {
  const grid = gridOf("default");
  const arms = bestArms(grid, cell, written);
  const runs = (): RunSpec[] =>
    grid.loads.flatMap((load) =>
      arms.flatMap((arm) => REPEAT_SEEDS.map((seed) => specOf(cell, arm, load, seed))),
    );
  return {
    name: "repeat",
    title: `The cell ${cell.name} on ${REPEAT_SEEDS.length} seeds`,
    secondsPerRun: 5,
    mostRuns: () => runs().length,
    runs,
    findings(_size: Size, done: Results): Findings {
      const means = arms.map((arm) => meansOf(cell, arm, done));
      const table = tableOf(cell, means, done);
      const markdown = `Tokens/s within the objective, means over the seeds (\`npm run evidence -- --repeat ${cell.name}\`): ${cell.title}. In brackets: what
\`${OURS}\` gains over the arm, and on how many seeds it is not behind. The peak is the load of the highest mean.

${markdownTable(table)}`;
      return { markdown, panels: [], tables: [table], figures: means };
    },
  };
}
