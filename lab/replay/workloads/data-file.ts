// SPDX-License-Identifier: Apache-2.0
// Reading of trace files: JSON lines, plain or compressed, the shipped ones by name.
import { existsSync, readFileSync } from "node:fs";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { Failure } from "../../../cli/failure.ts";
import { fromRoot } from "../../../cli/paths.ts";

/** Absolute path of a trace that ships with the product. */
export function shippedTrace(name: "airline" | "coding-agent"): string {
  return fromRoot("lab", "replay", "data", `${name}.ndjson.br`);
}

/**
 * The text of a file (`.br` and `.gz` are unpacked).
 * @throws Failure naming the file, and why it cannot be read
 */
export function readText(path: string): string {
  if (!existsSync(path)) throw new Failure(`${path}: no such file`);
  try {
    const bytes = readFileSync(path);
    if (path.endsWith(".br")) return brotliDecompressSync(bytes).toString("utf8");
    if (path.endsWith(".gz")) return gunzipSync(bytes).toString("utf8");
    return bytes.toString("utf8");
  } catch (fault) {
    const why = fault instanceof Error ? fault.message : String(fault);
    throw new Failure(`${path}: cannot be read: ${why}`);
  }
}

/** @throws Error unless the line is a JSON object */
function parseRow<T>(line: string): T {
  const row: unknown = JSON.parse(line);
  if (typeof row !== "object" || row === null || Array.isArray(row)) throw new Error("not a row");
  return row as T;
}

/**
 * All lines of a JSON-lines file (`.br` and `.gz` are unpacked).
 * @throws Failure naming the file, and the line that is not a JSON object; or why it cannot be read
 */
export function readJsonLines<T>(path: string): T[] {
  return parseJsonLines<T>(path, readText(path));
}

/** @throws Failure naming the file, and the line that is not a JSON object */
export function parseJsonLines<T>(path: string, text: string): T[] {
  const rows: T[] = [];
  text.split("\n").forEach((line, index) => {
    if (line.trim() === "") return;
    try {
      rows.push(parseRow<T>(line));
    } catch {
      throw new Failure(`${path}: line ${index + 1} is not a JSON object`);
    }
  });
  return rows;
}
