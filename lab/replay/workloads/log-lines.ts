// SPDX-License-Identifier: Apache-2.0
// The filter's records as they lie in access logs: alone on a line, behind a prefix, or as a field of a JSON line.

/** The filter's own record of a request: hashes and numbers, no text. Older ones lack some fields. */
export interface ObserveRow {
  /** End of the stream. */
  time_ms?: number;
  time?: number | string;
  /** How long before that the request was let go. */
  duration_ms?: number | null;
  outcome?: string;
  tenant?: string;
  session_key?: string;
  model?: string;
  head?: string;
  head_tokens?: number;
  turn: number;
  prompt_tokens: number;
  reported_prompt_tokens?: number | null;
  cached_tokens?: number | null;
  output_tokens?: number | null;
  ttft_ms?: number | null;
  pinned?: boolean;
  endpoint?: string | null;
  boundaries: { hash: string; runs: number; tokens: number }[];
}

/** Objects and texts in each other: a field of an access log that a container runtime wraps again has six. */
const MAX_DEPTH = 8;
/** Every record holds it, escaped where the record is a string. */
const MARK = /\\*"boundaries\\*":/;

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function recordIn(value: unknown, depth: number): ObserveRow | null {
  if (depth > MAX_DEPTH) return null;
  if (typeof value === "string") {
    const start = value.indexOf("{");
    return start < 0 ? null : recordIn(parsed(value.slice(start)), depth + 1);
  }
  if (typeof value !== "object" || value === null) return null;
  if ("boundaries" in value && "turn" in value) return value as ObserveRow;
  for (const inner of Object.values(value)) {
    const found = recordIn(inner, depth + 1);
    if (found !== null) return found;
  }
  return null;
}

/** Records among the lines of a text, in order; `others` counts lines that hold none. */
export function recordsIn(text: string): { records: ObserveRow[]; others: number } {
  const records: ObserveRow[] = [];
  let others = 0;
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const record = MARK.test(line) ? recordIn(line, 0) : null;
    if (record === null) others++;
    else records.push(record);
  }
  return { records, others };
}
