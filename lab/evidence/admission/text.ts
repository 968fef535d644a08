// SPDX-License-Identifier: Apache-2.0
// What the admission study says: tables, charts, and sentences that hold its figures against what was asked for.
import { mean } from "simple-statistics";
import { markdownTable } from "../markdown.ts";
import type { Panel, TextTable } from "../study.ts";
import type { ClosedArm, ClosedRow, OpenArm, OpenRow, ScenarioRow } from "./figures.ts";

const thousands = (tps: number): string => (tps / 1000).toFixed(0);
const times = (ratio: number): string => ratio.toFixed(2);
const share = (part: number): string => part.toFixed(2);
const seconds = (value: number): string => value.toFixed(value < 10 ? 1 : 0);

function cellName({ sessions, millions }: { sessions: number; millions: number }): string {
  return `${sessions} x ${millions}`;
}

function withRange({ tps, range }: ClosedArm): string {
  return `${thousands(tps)} (${range.map(thousands).join("-")})`;
}

const latency = ({ ttftS }: ClosedArm): string => ttftS.map(seconds).join(" / ");

export function closedTable(rows: readonly ClosedRow[]): TextTable {
  return {
    title: "Closed populations, thousand tokens/s",
    head: [
      ...["sessions x M tokens", "none", "hits", "TTFT p50 / p99"],
      ...["best window", "AIMD", "learned", "hits", "TTFT p50 / p99"],
      ...["hold mean / longest", "to none", "to best", "300 s limit, to none"],
    ],
    rows: rows.map((row) => [
      cellName(row),
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
    rows: rows.map(({ millions, ratePerS, off, learned, oldest }) => [
      `${millions}, ${ratePerS}`,
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
    head: ["case", "sessions x M", "none", "hits", "learned", "hits", "longest hold", "to none"],
    rows: rows.map((row) => [
      row.name,
      cellName(row),
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
      labels: open.map(({ millions, ratePerS }) => `${millions} M, ${ratePerS}/s`),
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

/** A cell fits where nobody gains from waiting: no admission finds almost all that can be found. */
const fits = ({ off }: ClosedRow): boolean => off.hit > 0.97 * off.possible;

function find(rows: readonly ClosedRow[], name: string): ClosedRow | undefined {
  return rows.find((row) => cellName(row) === name);
}

function worst(rows: readonly ClosedRow[], value: (row: ClosedRow) => number): string {
  const row = rows.reduce((a, b) => (value(b) < value(a) ? b : a));
  return `${times(value(row))} (${cellName(row)})`;
}

/** Sentences, each with its figure. */
function closedVerdicts(rows: readonly ClosedRow[]): string[] {
  if (rows.length === 0) return [];
  const past = rows.filter((row) => !fits(row));
  const inside = rows.filter(fits);
  const gains = ["120 x 0.8", "120 x 1", "256 x 1", "400 x 2"]
    .map((name) => find(rows, name))
    .filter((row) => row !== undefined)
    .map((row) => `${times(row.toOff)} at ${cellName(row)} M`);
  const text = [
    `**Against the best fixed window** (or none, where that is better), learned is at ${times(mean(rows.map((row) => row.toBest)))} on average, at worst ${worst(rows, (row) => row.toBest)}. AIMD is at ${times(mean(rows.map((row) => row.aimdToBest)))}, at worst ${worst(rows, (row) => row.aimdToBest)}.`,
  ];
  if (gains.length > 0) text.push(`**Against no admission**: ${gains.join(", ")}.`);
  if (inside.length > 0) {
    text.push(
      `**Where everything fits** (${inside.map(cellName).join(", ")}), the worst is ${worst(inside, (row) => row.toOff)} of no admission.`,
    );
  }
  if (past.length > 0) {
    const kept = past.filter((row) => row.toOff > 1.05);
    const left = kept.map((row) => (row.limitedToOff - 1) / (row.toOff - 1));
    if (left.length > 0) {
      text.push(
        `**With the default hold limit** of 300 s, ${Math.round(100 * mean(left))} % of the gain is left on average: whoever is let through pushes out others.`,
      );
    }
    const longest = Math.max(...past.map((row) => row.learned.holdS[1]));
    text.push(
      `Without a limit single requests are held for up to ${Math.round(longest)} s where twice or more of what fits is asked for.`,
    );
  }
  return text;
}

function openVerdicts(rows: readonly OpenRow[]): string[] {
  return rows
    .filter(({ millions }) => millions === 1)
    .map(({ millions, ratePerS, off, oldest }) => {
      const ratio = (of: (arm: OpenArm) => number): string => times(of(oldest) / of(off));
      return `At ${millions} M and ${ratePerS} sessions a second, oldest session first has ${ratio((arm) => arm.jctS.mean)} of the mean job time without admission, ${ratio((arm) => arm.jctS.p95)} of its p95 and ${ratio((arm) => arm.jctS.p99)} of its p99.`;
    });
}

const CONDITIONS = (seeds: number): string =>
  `Eight endpoints, \`sticky\`, the odd half of \`coding-agent-flat\`, ${seeds === 1 ? "one seed" : `means over ${seeds} seeds (lowest-highest)`}; holds have no limit unless it says so. Closed populations run for 45 minutes, the first 15 of which are not measured. Where sessions begin at random they do so for an hour on an empty fleet, and all run to their end. The best window is a share of the true capacity, chosen on the first seed of the reported half itself, so it is favoured; it holds with the same rule as \`given\`. Sessions of one application share its head in the cache, so more of them fit than their contexts say, and a window of 1 can be the best.`;

/** The section's Markdown. */
export function verdicts(
  closed: readonly ClosedRow[],
  open: readonly OpenRow[],
  seeds: number,
  tables: readonly TextTable[],
): string {
  const sentences = [...closedVerdicts(closed), ...openVerdicts(open)];
  const written = tables
    .filter(({ rows }) => rows.length > 0)
    .map((table) => `${table.title}:\n\n${markdownTable(table)}`);
  return [CONDITIONS(seeds), sentences.map((text) => `- ${text}`).join("\n"), ...written].join(
    "\n\n",
  );
}
