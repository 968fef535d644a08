// SPDX-License-Identifier: Apache-2.0
// What was asked of admission before it was built, held against the figures: met or missed, whatever the runs say.
import { mean } from "simple-statistics";
import type { ClosedRow, OpenRow, ScenarioRow } from "./figures.ts";
import { openSeeds, SEEDS } from "./regimes.ts";

export interface Target {
  asked: string;
  found: string;
  isMet: boolean;
}

const LEAST_TO_BEST = 0.9;
const LEAST_MEAN_TO_BEST = 0.98;
const LEAST_TO_NONE_WHERE_IT_FITS = 0.98;
const MOST_OF_MEAN_JCT = 0.5;
/** Tokens/s over those without admission, by cell. */
const GAINS: readonly [factor: number, cells: readonly [sessions: number, millions: number][]][] = [
  [1.25, [[120, 1]]],
  [
    2,
    [
      [256, 1],
      [400, 2],
    ],
  ],
];
const OPEN_CELL = { millions: 1, ratePerS: 0.09 };

/** A ratio as the text writes it. */
export const times = (ratio: number): string => ratio.toFixed(2);

/** Sessions and capacity of a cell in a few characters. */
export function cellName({ sessions, millions }: { sessions: number; millions: number }): string {
  return `${sessions} x ${millions}`;
}

/** What the first seeds alone say of an open row's mean job time. */
export function firstSeeds({ firstOldestToOff }: OpenRow): string {
  return `${times(firstOldestToOff)} by the first ${SEEDS.length} seeds alone`;
}

/** The least of some ratios and where it is. */
export function worst<Row>(
  rows: readonly Row[],
  ratio: (row: Row) => number,
  name: (row: Row) => string,
): string {
  const row = rows.reduce((a, b) => (ratio(b) < ratio(a) ? b : a));
  return `${times(ratio(row))} (${name(row)})`;
}

function againstBest(rows: readonly ClosedRow[]): Target[] {
  const ratios = rows.map((row) => row.toBest);
  return [
    {
      asked: "within 10 % of the best fixed window, or of none where that is better, in every row",
      found: `at worst ${worst(rows, (row) => row.toBest, cellName)}`,
      isMet: Math.min(...ratios) >= LEAST_TO_BEST,
    },
    {
      asked: "0.98 of it on average",
      found: times(mean(ratios)),
      isMet: mean(ratios) >= LEAST_MEAN_TO_BEST,
    },
  ];
}

function againstNone(rows: readonly ClosedRow[]): Target[] {
  return GAINS.flatMap(([factor, cells]) => {
    const found = cells
      .map(([sessions, millions]) =>
        rows.find((row) => row.sessions === sessions && row.millions === millions),
      )
      .filter((row) => row !== undefined);
    if (found.length < cells.length) return [];
    return {
      asked: `${factor} times no admission at ${found.map(cellName).join(" M and ")} M`,
      found: found.map((row) => times(row.toOff)).join(" and "),
      isMet: found.every((row) => row.toOff >= factor),
    };
  });
}

function whereItFits(rows: readonly ClosedRow[], scenarios: readonly ScenarioRow[]): Target[] {
  const fitting = [
    ...rows.filter((row) => row.fits).map((row) => ({ name: cellName(row), ratio: row.toOff })),
    ...scenarios
      .filter((row) => row.fits)
      .map((row) => ({ name: row.name, ratio: row.learnedTps / row.offTps })),
  ];
  if (fitting.length === 0) return [];
  return [
    {
      asked: "never 2 % below no admission where everything fits, on any GPU",
      found: `at worst ${worst(
        fitting,
        (each) => each.ratio,
        (each) => each.name,
      )}`,
      isMet: fitting.every((each) => each.ratio >= LEAST_TO_NONE_WHERE_IT_FITS),
    },
  ];
}

function openTargets(rows: readonly OpenRow[]): Target[] {
  const { millions, ratePerS } = OPEN_CELL;
  const row = rows.find(
    (each) => each.millions === millions && each.ratePerS === ratePerS && each.heads !== "shared",
  );
  if (row === undefined) return [];
  const [off, oldest] = [row.off.jctS, row.oldest.jctS];
  const share = oldest.mean / off.mean;
  return [
    {
      asked: `half of the mean job time at ${millions} M and ${ratePerS} sessions a second, and a lower p95, over ${openSeeds(row).length} seeds`,
      found: `${times(share)} of the mean (${firstSeeds(row)}), ${times(oldest.p95 / off.p95)} of the p95`,
      isMet: share <= MOST_OF_MEAN_JCT && oldest.p95 < off.p95,
    },
  ];
}

/** Those whose cells have been played. */
export function targetsOf(
  closed: readonly ClosedRow[],
  open: readonly OpenRow[],
  scenarios: readonly ScenarioRow[],
): Target[] {
  return [
    ...(closed.length > 0 ? againstBest(closed) : []),
    ...againstNone(closed),
    ...whereItFits(closed, scenarios),
    ...openTargets(open),
  ];
}
