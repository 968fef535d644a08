// SPDX-License-Identifier: Apache-2.0
// The closing table: one column an arm, one row a measure.
import Table from "cli-table3";
import type { Measures } from "../measures/measures.ts";
import { measureRows } from "./rows.ts";

/** The table as text, `title` above it. Times and rates are simulated. */
export function renderTable(title: string, arms: readonly Measures[]): string {
  const table = new Table({
    head: ["", ...arms.map((arm) => arm.policy)],
    colAligns: ["left", ...arms.map(() => "right" as const)],
    style: { head: [], border: [], compact: true },
  });
  for (const [name, value] of measureRows(arms)) table.push([name, ...arms.map(value)]);
  return `${title}\n${table.toString()}`;
}
