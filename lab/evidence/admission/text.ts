// SPDX-License-Identifier: Apache-2.0
// What the admission study says: tables, charts, and sentences that hold its figures against what was asked for.
import { mean } from "simple-statistics";
import { markdownTable } from "../markdown.ts";
import type { Panel, TextTable } from "../study.ts";
import type { ClosedArm, ClosedRow, OpenArm, OpenRow, ScenarioRow } from "./figures.ts";
import { MORE_SEEDS, type OpenCell, openSeeds, SEEDS } from "./regimes.ts";
import { cellName, firstSeeds, type Target, times, worst } from "./targets.ts";

const thousands = (tps: number): string => (tps / 1000).toFixed(0);
const share = (part: number): string => part.toFixed(2);
const percent = (part: number): string => `${Math.round(100 * part)} %`;
const seconds = (value: number): string => value.toFixed(value < 10 ? 1 : 0);

function withRange({ tps, range }: ClosedArm): string {
  return `${thousands(tps)} (${range.map(thousands).join("-")})`;
}

const latency = ({ ttftS }: ClosedArm): string => ttftS.map(seconds).join(" / ");

export function closedTable(rows: readonly ClosedRow[]): TextTable {
  return {
    title: "Closed populations, thousand tokens/s",
    head: [
      ...["sessions x M tokens", "asked for", "none", "hits", "TTFT p50 / p99"],
      ...["best window", "AIMD", "learned", "hits", "TTFT p50 / p99"],
      ...["hold mean / longest", "to none", "to best", "300 s limit, to none"],
    ],
    rows: rows.map((row) => [
      cellName(row),
      share(row.asked),
      withRange(row.off),
      share(row.off.hit),
      latency(row.off),
      row.best === row.off ? "none" : `${thousands(row.best.tps)} (${row.window})`,
      thousands(row.aimdTps),
      withRange(row.learned),
      share(row.learned.hit),
      latency(row.learned),
      row.learned.holdS.map(seconds).join(" / "),
      times(row.toOff),
      times(row.toBest),
      times(row.limitedToOff),
    ]),
  };
}

function jct({ jctS, unfinished }: OpenArm): string {
  const { mean: average, p50, p95, p99 } = jctS;
  const text = [average, p50, p95, p99].map((value) => value.toFixed(0)).join(" / ");
  return unfinished > 0 ? `${text} (${unfinished.toFixed(0)} unfinished)` : text;
}

function openName({ millions, ratePerS, heads }: OpenCell): string {
  return `${millions}, ${ratePerS}${heads === "shared" ? ", shared heads" : ""}`;
}

export function openTable(rows: readonly OpenRow[]): TextTable {
  return {
    title: "Sessions that begin at random: job completion time in seconds, holding included",
    head: [
      ...[
        "M tokens, a second",
        "none: mean / p50 / p95 / p99",
        "learned, fifo",
        "hold mean / longest",
      ],
      ...["learned, oldest session first", "hold mean / longest"],
    ],
    rows: rows.map(({ off, learned, oldest, ...cell }) => [
      openName(cell),
      jct(off),
      jct(learned),
      learned.holdS.map(seconds).join(" / "),
      jct(oldest),
      oldest.holdS.map(seconds).join(" / "),
    ]),
  };
}

export function scenarioTable(rows: readonly ScenarioRow[]): TextTable {
  return {
    title: "What else may be different, thousand tokens/s, one seed",
    head: [
      "case",
      "sessions x M",
      "asked for",
      "none",
      "hits",
      "learned",
      "hits",
      "longest hold",
      "to none",
    ],
    rows: rows.map((row) => [
      row.name,
      cellName(row),
      share(row.asked),
      thousands(row.offTps),
      share(row.offHit),
      thousands(row.learnedTps),
      share(row.learnedHit),
      `${seconds(row.longestHoldS)} s`,
      times(row.learnedTps / row.offTps),
    ]),
  };
}

export function panels(closed: readonly ClosedRow[], open: readonly OpenRow[]): Panel[] {
  const found: Panel[] = [];
  if (closed.length > 0) {
    found.push({
      title: "Admission: tokens per second",
      text: "closed populations: sessions x million tokens an endpoint",
      kind: "bar",
      labels: closed.map(cellName),
      unit: "thousands",
      series: [
        { name: "none", values: closed.map((row) => row.off.tps) },
        { name: "best fixed window", values: closed.map((row) => row.best.tps) },
        { name: "learned", values: closed.map((row) => row.learned.tps) },
      ],
    });
  }
  if (open.length > 0) {
    const arm = (name: string, of: (row: OpenRow) => OpenArm) => ({
      name,
      values: open.map((row) => of(row).jctS.mean),
    });
    found.push({
      title: "Admission: mean job completion time, seconds",
      text: "million tokens an endpoint, new sessions a second",
      kind: "bar",
      labels: open.map(openName),
      unit: "number",
      series: [
        arm("none", (row) => row.off),
        arm("learned, fifo", (row) => row.learned),
        arm("learned, oldest session first", (row) => row.oldest),
      ],
    });
  }
  return found;
}

export function targetTable(targets: readonly Target[]): TextTable {
  return {
    title: "What was asked for, and what came of it",
    head: ["asked", "found", ""],
    rows: targets.map(({ asked, found, isMet }) => [asked, found, isMet ? "met" : "missed"]),
  };
}

/** Sentences, each with its figure. */
function closedVerdicts(rows: readonly ClosedRow[]): string[] {
  if (rows.length === 0) return [];
  const past = rows.filter((row) => !row.fits);
  const text = [
    `**Against the best fixed window** (or none, where that is better), learned is at ${times(mean(rows.map((row) => row.toBest)))} on average, AIMD at ${times(mean(rows.map((row) => row.aimdToBest)))}, at worst ${worst(rows, (row) => row.aimdToBest, cellName)}.`,
  ];
  if (past.length === 0) return text;
  const gains = past.map((row) => row.toOff);
  text.push(
    `**Against no admission**, ${times(Math.min(...gains))} to ${times(Math.max(...gains))} where not everything fits.`,
  );
  const kept = past.filter((row) => row.toOff > 1.05);
  const left = kept.map((row) => (row.limitedToOff - 1) / (row.toOff - 1));
  if (left.length > 0) {
    const least = kept[left.indexOf(Math.min(...left))]!;
    text.push(
      `**With the default hold limit** of 300 s, ${percent(mean(left))} of the gain is left on average and ${percent(Math.min(...left))} at ${cellName(least)} M: whoever is let through pushes out others.`,
    );
  }
  const longest = past.reduce((a, b) => (b.learned.holdS[1] > a.learned.holdS[1] ? b : a));
  text.push(
    `Without a limit single requests are held for up to ${seconds(longest.learned.holdS[1])} s (${cellName(longest)} M, where ${times(longest.asked)} of the capacity is asked for); in the open loop see the longest holds and the p99 below.`,
  );
  return text;
}

function openVerdicts(rows: readonly OpenRow[]): string[] {
  return rows
    .filter(({ off, oldest }) => oldest.jctS.mean < 0.95 * off.jctS.mean)
    .map((row) => {
      const { off, oldest, millions, ratePerS, heads } = row;
      const ratio = (of: (arm: OpenArm) => number): string => times(of(oldest) / of(off));
      const where = heads === "shared" ? " and shared heads" : "";
      const aside =
        openSeeds(row).length > SEEDS.length
          ? ` (over ${openSeeds(row).length} seeds; ${firstSeeds(row)})`
          : "";
      return `At ${millions} M, ${ratePerS} sessions a second${where}, oldest session first has ${ratio((arm) => arm.jctS.mean)} of the mean job time without admission${aside}, ${ratio((arm) => arm.jctS.p95)} of its p95 and ${ratio((arm) => arm.jctS.p99)} of its p99.`;
    });
}

/** Why a population of the same size gains less where heads are shared. */
function headVerdicts(rows: readonly ScenarioRow[], closed: readonly ClosedRow[]): string[] {
  const pairs = rows
    .filter(({ heads }) => heads === "shared")
    .flatMap((row) => {
      const own = closed.find((each) => cellName(each) === cellName(row));
      return own === undefined ? [] : [{ row, own }];
    });
  if (pairs.length === 0) return [];
  const parts = pairs.map(
    ({ row, own }) =>
      `${cellName(row)} M asks for ${times(row.asked)} of the capacity instead of ${times(own.asked)} and gains ${times(row.learnedTps / row.offTps)} instead of ${times(own.toOff)}`,
  );
  return [
    `**Where five applications share their heads**, as an engine caches them once for all of their sessions, the same population asks for less: ${parts.join("; ")}.`,
  ];
}

const CONDITIONS = (seeds: number): string =>
  `Eight endpoints, \`sticky\`, the odd half of \`coding-agent-own-heads\`, ${seeds === 1 ? "one seed" : `means over ${seeds} seeds (lowest-highest)`}; holds have no limit unless it says so. Each session has a head of its own, so that its whole context counts against the caches; *asked for* is what all contexts take, over what the fleet holds. Closed populations run for 45 minutes, the first 15 of which are not measured, and begin mid-way, all with empty caches. Where sessions begin at random they do so for an hour on an empty fleet, and all run to their end; job times differ more from seed to seed there, so the row that a target is set for has ${MORE_SEEDS.length} seeds. The best window is a share of the true capacity, chosen on the first seed of the reported half itself, so it is favoured; it holds with the same rule as \`given\`.`;

/** What there is to write about. */
export interface Rows {
  closed: readonly ClosedRow[];
  open: readonly OpenRow[];
  scenarios: readonly ScenarioRow[];
}

/** The section's Markdown; the first table stands before the sentences. */
export function verdicts(
  { closed, open, scenarios }: Rows,
  seeds: number,
  tables: readonly TextTable[],
): string {
  const sentences = [
    ...closedVerdicts(closed),
    ...headVerdicts(scenarios, closed),
    ...openVerdicts(open),
  ];
  const [first, ...others] = tables.map((table) =>
    table.rows.length === 0 ? "" : `${table.title}:\n\n${markdownTable(table)}`,
  );
  const list = sentences.map((text) => `- ${text}`).join("\n");
  return [CONDITIONS(seeds), first, list, ...others].filter((text) => text !== "").join("\n\n");
}
