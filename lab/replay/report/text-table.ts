// SPDX-License-Identifier: Apache-2.0
// Tables of text as every command prints them.
import Table from "cli-table3";

/**
 * @param leftColumns how many columns hold names; those behind them hold numbers and stand to the right
 */
export function textTable(
  head: readonly string[],
  rows: readonly (readonly (string | number)[])[],
  leftColumns = 1,
): string {
  const table = new Table({
    head: [...head],
    colAligns: head.map((_, index) => (index < leftColumns ? "left" : "right")),
    style: { head: [], border: [], compact: true },
  });
  table.push(...rows.map((row) => [...row]));
  return table.toString();
}
