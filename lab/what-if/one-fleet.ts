// SPDX-License-Identifier: Apache-2.0
// A log may tell of several fleets: models on endpoints of their own. One is answered for, the busiest.
import type { LinkedRow } from "../replay/workloads/linked-rows.ts";

/** Rows that pass, in order; what continues a row that does not begins a session. */
export function rowsWhere(
  rows: readonly LinkedRow[],
  passes: (row: LinkedRow) => boolean,
): LinkedRow[] {
  const placeOf = new Map<number, number>();
  const kept: LinkedRow[] = [];
  rows.forEach((row, index) => {
    if (!passes(row)) return;
    placeOf.set(index, kept.length);
    kept.push({ ...row, parent: placeOf.get(row.parent) ?? -1 });
  });
  return kept;
}

/** Names that belong together: each leads to one that speaks for all. */
class Groups {
  private readonly next = new Map<string, string>();

  speakerOf(name: string): string {
    const next = this.next.get(name);
    if (next === undefined) return name;
    const speaker = this.speakerOf(next);
    this.next.set(name, speaker);
    return speaker;
  }

  join(a: string, b: string): void {
    const [one, other] = [this.speakerOf(a), this.speakerOf(b)];
    if (one !== other) this.next.set(one, other);
  }
}

function modelOf({ app }: LinkedRow): string {
  return `model ${app.split("/")[0] ?? ""}`;
}

/** Rows of the models that share endpoints with each other and get the most prompt tokens. */
export function busiestFleet(rows: readonly LinkedRow[]): LinkedRow[] {
  const groups = new Groups();
  for (const row of rows) {
    const { endpoint } = row.served;
    if (endpoint !== null) groups.join(modelOf(row), `endpoint ${endpoint}`);
  }
  const tokens = new Map<string, number>();
  for (const row of rows) {
    const fleet = groups.speakerOf(modelOf(row));
    tokens.set(fleet, (tokens.get(fleet) ?? 0) + row.inputTokens);
  }
  if (tokens.size <= 1) return [...rows];
  const [busiest] = [...tokens].reduce((a, b) => (b[1] > a[1] ? b : a));
  return rowsWhere(rows, (row) => groups.speakerOf(modelOf(row)) === busiest);
}
