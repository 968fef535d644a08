// SPDX-License-Identifier: Apache-2.0
// The table that a what-if prints.
import { textTable } from "../replay/report/text-table.ts";
import { loadHead, loadRows } from "./rows.ts";
import type { LoadPoint } from "./study.ts";

/** The table as text. */
export function renderLoads(points: readonly LoadPoint[]): string {
  return textTable(loadHead(points), loadRows(points), 2);
}
