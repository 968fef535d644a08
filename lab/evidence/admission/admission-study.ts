// SPDX-License-Identifier: Apache-2.0
// The study of admission: what holding sessions is worth, and how near measuring the capacity comes to knowing it.
import type { Findings, Results, RunSpec, Size, Study } from "../study.ts";
import { closedRow, openRow, scenarioRow } from "./figures.ts";
import {
  CLOSED,
  closedSpec,
  OPEN,
  openSeeds,
  openSpec,
  SCENARIOS,
  scenarioSpec,
  SEEDS,
  type Way,
  WINDOWS,
} from "./regimes.ts";
import { targetsOf } from "./targets.ts";
import { closedTable, openTable, panels, scenarioTable, targetTable, verdicts } from "./text.ts";

const QUICK_CLOSED = [CLOSED[2]!, CLOSED[9]!];
const OPEN_WAYS: readonly Way[] = ["off", "learned", "oldest"];

function cellsOf(size: Size) {
  if (size !== "quick") return { closed: CLOSED, open: OPEN, scenarios: SCENARIOS, seeds: SEEDS };
  return { closed: QUICK_CLOSED, open: [], scenarios: [], seeds: SEEDS.slice(0, 1) };
}

function runsOf(size: Size, done: Results): RunSpec[] {
  const { closed, open, scenarios, seeds } = cellsOf(size);
  const [first] = seeds;
  const specs: RunSpec[] = [];
  for (const cell of closed) {
    for (const seed of seeds) {
      specs.push(closedSpec(cell, "off", seed), closedSpec(cell, "learned", seed));
    }
    specs.push(closedSpec(cell, "limited", first!), closedSpec(cell, "aimd", first!));
    // All windows with one seed; the best of them with the others as well.
    for (const share of WINDOWS) specs.push(closedSpec(cell, `fixed:${share}`, first!));
    const best = closedRow(cell, seeds, done)?.window;
    if (best === undefined) continue;
    for (const seed of seeds.slice(1)) specs.push(closedSpec(cell, `fixed:${best}`, seed));
  }
  for (const cell of open) {
    for (const seed of openSeeds(cell)) {
      specs.push(...OPEN_WAYS.map((way) => openSpec(cell, way, seed)));
    }
  }
  for (const scenario of scenarios) {
    specs.push(scenarioSpec(scenario, "off"), scenarioSpec(scenario, "learned"));
  }
  return specs;
}

function findingsOf(size: Size, done: Results): Findings {
  const { closed, open, scenarios, seeds } = cellsOf(size);
  const closedRows = closed
    .map((cell) => closedRow(cell, seeds, done))
    .filter((row) => row !== undefined);
  const openRows = open.map((cell) => openRow(cell, done)).filter((row) => row !== undefined);
  const scenarioRows = scenarios
    .map((scenario) => scenarioRow(scenario, done))
    .filter((row) => row !== undefined);
  const rows = { closed: closedRows, open: openRows, scenarios: scenarioRows };
  const targets = targetsOf(closedRows, openRows, scenarioRows);
  const tables = [
    targetTable(targets),
    ...[closedTable(closedRows), openTable(openRows), scenarioTable(scenarioRows)],
  ];
  return {
    markdown: verdicts(rows, seeds.length, tables),
    panels: panels(closedRows, openRows),
    tables,
    figures: { targets, ...rows },
  };
}

export const admissionStudy: Study = {
  name: "admission",
  title: "Admission",
  secondsPerRun: 8,
  mostRuns: (size) => {
    const { closed, open, scenarios, seeds } = cellsOf(size);
    const perCell = 3 * seeds.length + 1 + WINDOWS.length;
    const openRuns = open.flatMap(openSeeds).length * OPEN_WAYS.length;
    return closed.length * perCell + openRuns + 2 * scenarios.length;
  },
  runs: runsOf,
  findings: findingsOf,
};
