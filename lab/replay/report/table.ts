// SPDX-License-Identifier: Apache-2.0
// The closing table: one column an arm, one row a measure.
import type { Measures } from "../measures/measures.ts";
import { measureRows } from "./rows.ts";
import { textTable } from "./text-table.ts";

/** The table as text, `title` above it. Times and rates are simulated. */
export function renderTable(title: string, arms: readonly Measures[]): string {
  const head = ["", ...arms.map((arm) => arm.policy)];
  const rows = measureRows(arms).map(([name, value]) => [name, ...arms.map(value)]);
  return `${title}\n${textTable(head, rows)}`;
}
