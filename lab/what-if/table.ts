// SPDX-License-Identifier: Apache-2.0
// The table that a what-if prints.
import Table from "cli-table3";
import { loadHead, loadRows } from "./rows.ts";
import type { LoadPoint } from "./study.ts";

/** The table as text. */
export function renderLoads(points: readonly LoadPoint[]): string {
  const table = new Table({
    head: loadHead(points),
    colAligns: ["left", "left", ...points.map(() => "right" as const)],
    style: { head: [], border: [], compact: true },
  });
  table.push(...loadRows(points));
  return table.toString();
}
