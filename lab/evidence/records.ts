// SPDX-License-Identifier: Apache-2.0
// Finished runs as JSON lines, one a line: appended as they come, so that an interrupted command goes on.
import { appendFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { dirname } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import type { RunMeasures, RunSpec } from "./study.ts";

/** One finished run. */
export interface RunRow {
  /** See `Player.keyOf`. */
  key: string;
  spec: RunSpec;
  measures: RunMeasures;
}

/** A file cut off in the middle of a line loses that line only. */
function parse(line: string): RunRow | null {
  try {
    return JSON.parse(line) as RunRow;
  } catch {
    return null;
  }
}

function rowsOf(text: string): RunRow[] {
  return text
    .split("\n")
    .map(parse)
    .filter((row) => row !== null);
}

/** All rows of a packed file; none when it is not there. */
export function readPacked(path: string): RunRow[] {
  return existsSync(path) ? rowsOf(gunzipSync(readFileSync(path)).toString("utf8")) : [];
}

/** Rows as the bytes of a packed file. */
export function packed(rows: readonly RunRow[]): Buffer {
  return gzipSync(rows.map((row) => `${JSON.stringify(row)}\n`).join(""), { level: 9 });
}

/** Finished runs by key, kept in a file. */
export class RunRecords {
  private readonly rows = new Map<string, RunRow>();

  constructor(private readonly path: string) {
    if (!existsSync(path)) return;
    for (const row of rowsOf(readFileSync(path, "utf8"))) this.rows.set(row.key, row);
  }

  get(key: string): RunRow | undefined {
    return this.rows.get(key);
  }

  add(row: RunRow): void {
    const line = JSON.stringify(row);
    // What is read back has null for NaN: results must not depend on which it was.
    this.rows.set(row.key, JSON.parse(line) as RunRow);
    mkdirSync(dirname(this.path), { recursive: true });
    // A line that was cut off before must not swallow this one.
    appendFileSync(this.path, `\n${line}`);
  }
}
