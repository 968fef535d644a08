// SPDX-License-Identifier: Apache-2.0
// The section of the routing study in Markdown: what was run, what came out, and what it does not say.
import { median } from "simple-statistics";
import { markdownTable } from "../markdown.ts";
import type { Size } from "../study.ts";
import type { CellFigures, GainFigures, RoutingFigures } from "./analysis.ts";
import { PILOT_SEEDS } from "./knees.ts";
import { OURS } from "./regimes.ts";
import { gridOf, mostRoutingRuns } from "./runs.ts";
import {
  beyondTable,
  contestTable,
  detailTable,
  gainTable,
  gbpsText,
  peakTable,
  percent,
  signed,
  tierTable,
} from "./tables.ts";

/** Cells whose arms are shown in detail. */
const DETAILED = ["n07", "d07", "pn14"];

function sharesOf(cells: readonly CellFigures[]): number[] {
  return cells.map((cell) => cell.contest.find((each) => each.arm === OURS)!.of_best);
}

function leastShare(cells: readonly CellFigures[]): string {
  return percent(Math.min(...sharesOf(cells)), 1);
}

function answer({ cells }: RoutingFigures): string {
  const colocated = cells.filter((cell) => !cell.disaggregated);
  const prefill = cells.filter((cell) => cell.disaggregated);
  const reuse = Math.min(...colocated.map((cell) => cell.reuse));
  const worst = (arm: string): number =>
    Math.min(...cells.map((cell) => cell.arms.find((each) => each.arm === arm)!.of_best));
  const others = cells[0]!.arms.map((each) => each.arm).filter((arm) => arm !== OURS);
  const next = others.reduce((a, b) => (worst(b) > worst(a) ? b : a));
  return [
    `- \`${OURS}\`, the default, reaches at least ${leastShare(colocated)} % of the best arm in every colocated cell (median ${percent(median(sharesOf(colocated)), 1)} %) and ${leastShare(prefill)} % in the prefill pools.`,
    `- Of the others \`${next}\` has the best worst cell, ${percent(worst(next))} % of the best; which arm is second changes from cell to cell.`,
    `- At the lowest load \`${OURS}\` finds at least ${percent(reuse, 1)} % of the KV that any routing could have found.`,
  ].join("\n");
}

function gainOf(gains: readonly GainFigures[], arm: string): string {
  const gain = gains.find((each) => each.arm === arm);
  return gain === undefined ? "-" : `${signed(gain.median)} / ${signed(gain.most)}`;
}

function papersTable({ colocated_gains: own, prefill_gains: pool, beside }: RoutingFigures) {
  const airline = beside.find((each) => each.cell === "airline")?.arms ?? [];
  const jct = (arm: string): number =>
    airline.find((each) => each.arm === arm)?.measures.jct_s.mean ?? NaN;
  const agentix = signed(jct("round-robin") / jct("agentix") - 1);
  return markdownTable({
    head: ["paper", "claims", "here, median / largest"],
    rows: [
      [
        "SMetric",
        "+10-16 % tokens/s colocated with a tier, about +1 % without (v1); +9-15 % (v2), over the best of its baselines",
        `over LMetric ${gainOf(own, "lmetric")}, least request ${gainOf(own, "least-request")}, linear ${gainOf(own, "linear:0.7")}`,
      ],
      [
        "SMetric",
        "+2-34 % prefill tokens/s disaggregated",
        `over LMetric ${gainOf(pool, "lmetric")}, hash ${gainOf(pool, "session-hash")}, linear ${gainOf(pool, "linear:0.7")}`,
      ],
      [
        "SMetric",
        "its own two guards",
        `${OURS} over v1 ${gainOf(own, "smetric-v1")}, v2 ${gainOf(own, "smetric-v2")}`,
      ],
      [
        "Agentix",
        "up to 1.4x throughput of its router over round robin",
        airline.length === 0 ? "-" : `airline, job completion time against round robin ${agentix}`,
      ],
    ],
  });
}

const CAVEATS = `> **What these numbers are not.** GPUs are modelled: no figure here was measured on hardware, and the objective (TTFT 1 s + 62.5 ms per
> 1,000 prompt tokens, TPOT 50 ms) shapes them. The *best* baseline is chosen afterwards, cell by cell; nobody can deploy that
> one. Baselines know exact token counts and, where they need one, the true speed of the GPU; the filter estimates both. The
> papers' gains come from fleets of 32 GPUs, with their own traces and engines: parts of them (scheduling inside the engine, KV
> kept during tool calls) are not the router's and are not here. Gains over different baselines do not add up, and one seed
> says nothing about a difference of less than two per cent.`;

function cellsTable(cells: readonly CellFigures[]): string {
  return markdownTable({
    head: ["cell", "what it is", "new sessions per second"],
    rows: cells.map((cell) => [cell.cell, cell.title, cell.loads_per_s.join(", ")]),
  });
}

function besideText(figures: RoutingFigures): string {
  if (figures.beside.length === 0) return "";
  const details = figures.beside.flatMap((each) => each.arms);
  const titles = figures.beside.map((each) => `\`${each.cell}\`: ${each.title}`).join("; ");
  const enough =
    figures.enough_gbps === null
      ? "none of them is within 2 % of an unlimited one"
      : `${gbpsText(figures.enough_gbps)} GB/s is the smallest within 2 % of an unlimited one`;
  return `### Other loads

One load and one seed each. ${titles}.

${markdownTable(detailTable("", details))}

### How much tier is enough

For contexts that are twice the caches and \`${OURS}\`, ${enough}. The same question for your own traffic:
\`npm run replay -- --trace my-log.jsonl --global-gbps 10\`.

${markdownTable(tierTable(figures))}
`;
}

function runText(size: Size): string {
  const { arms, loads, seeds, moreSeeds } = gridOf(size);
  const more =
    moreSeeds.length === 0
      ? ""
      : `; then \`${OURS}\` and the best two others of each cell at the two highest loads on seeds ${moreSeeds.join(", ")}`;
  return `At most ${mostRoutingRuns(size)} runs of 15 simulated minutes, the first five of them warm-up: ${arms.length} arms at ${loads.join(", ")} of the knee on seed ${seeds.join(", ")}${more}.
Cells, loads and seeds are the same for all arms, and all arms of a seed see the same sessions at the same times. The knee of a
cell is the load at which tokens/s within the objective peak, found by one rule (\`npm run evidence -- --knees\`) on seeds ${PILOT_SEEDS.join(", ")}.
What could be tuned was tuned on the even sessions of the trace; these are the odd ones, on seeds that nobody had looked at.`;
}

function beyondText(size: Size, figures: RoutingFigures): string {
  if (size === "quick") return "";
  return `### Beyond the knee

At the highest load alone. Whatever spreads the load evenly, \`${OURS}\` included, loses all endpoints at once when contexts no longer
fit; a fleet that is uneven, as under a hash, gives up some endpoints and keeps others within the objective. Holding sessions back
is worth more there than any routing: that is [admission](admission.md).

${markdownTable(beyondTable(figures))}
`;
}

/** The section. */
export function routingText(size: Size, figures: RoutingFigures): string {
  const details = figures.details.filter(({ cell }) => DETAILED.includes(cell));
  return `${answer(figures)}

${CAVEATS}

### What was run

${runText(size)}

${cellsTable(figures.cells)}

### Peak goodput

Tokens/s within the objective (prefill pools: prompt tokens/s within the TTFT objective) at each arm's best load, one seed, % of the
cell's best arm.

${markdownTable(peakTable(figures))}

The same for the best arms on all seeds; the last column is the lowest and the highest gain of a seed.

${markdownTable(contestTable(figures))}

${beyondText(size, figures)}
### Gain over each arm

At each arm's own best load of the three, and colocated with all arms at the knee. [How to read both](policies.md#how-good-is-it).

${markdownTable(gainTable(figures))}

### Beside the papers

${papersTable(figures)}

Not reproduced: the fall of the busiest endpoint's load from 3.0 to 2.6 times the mean (eight endpoints are evener to begin with), and
median TTFT (here a tenth of a second until the fleet collapses; what differs is the tail).

### At the knee

${markdownTable(detailTable("", details))}

${besideText(figures)}`;
}
