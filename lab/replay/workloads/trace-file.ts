// SPDX-License-Identifier: Apache-2.0
// Trace files that users bring: what format a file has is read off its first row.
import { basename } from "node:path";
import { Failure } from "../../../cli/failure.ts";
import { parseJsonLines, readText } from "./data-file.ts";
import { type LinkedRow, linkedSource, NOT_SERVED, type Piece } from "./linked-rows.ts";
import { recordsIn } from "./log-lines.ts";
import { recordRows } from "./record-rows.ts";
import type { SessionSource } from "./session.ts";

/** Mooncake's public traces: blocks of 512 tokens, named by a hash of themselves and all before them. */
interface MooncakeRow {
  timestamp: number;
  input_length: number;
  output_length: number;
  hash_ids: number[];
}

/** Alibaba Bailian's: blocks of 16 tokens, seconds, and the parent by name. */
interface BailianRow extends MooncakeRow {
  chat_id: number;
  parent_chat_id: number;
}

/** A chat-completions body with the time it was sent. */
interface BodyRow {
  timestamp?: number | string;
  time?: number | string;
  output_tokens?: number;
  body?: ChatBody;
  messages?: unknown[];
}

interface ChatBody {
  messages: unknown[];
}

const MOONCAKE_BLOCK = 512;
const BAILIAN_BLOCK = 16;
/** Where a log does not say what was answered. */
const DEFAULT_OUTPUT_TOKENS = 300;
const CHARACTERS_PER_TOKEN = 4;

/** Of formats without an answer's end, without endpoints and without a head. */
const UNTOLD = {
  durationMs: null,
  name: null,
  app: "",
  headTokens: 0,
  served: NOT_SERVED,
} as const;

/** Full blocks; each is named by itself and all before it. */
function blocksOf({ hash_ids, input_length }: MooncakeRow, blockTokens: number): Piece[] {
  const full = Math.floor(input_length / blockTokens);
  return hash_ids
    .slice(0, full)
    .map((name) => ({ name, tokens: blockTokens, role: "user" as const }));
}

function mooncakeRows(rows: readonly MooncakeRow[]): LinkedRow[] {
  const endedAt = new Map<number, number>();
  return rows.map((row, index) => {
    const full = Math.floor(row.input_length / MOONCAKE_BLOCK);
    // A follow-up holds all full blocks of its parent; the first block alone is everybody's.
    let parent = -1;
    for (let i = full - 1; i >= 1 && parent < 0; i--) parent = endedAt.get(row.hash_ids[i]!) ?? -1;
    if (full >= 2) endedAt.set(row.hash_ids[full - 1]!, index);
    return {
      ...UNTOLD,
      timeMs: row.timestamp,
      inputTokens: row.input_length,
      outputTokens: row.output_length,
      parent,
      opening: () => blocksOf(row, MOONCAKE_BLOCK),
    };
  });
}

function bailianRows(rows: readonly BailianRow[]): LinkedRow[] {
  const indexOf = new Map<number, number>();
  return rows.map((row, index) => {
    const parent = indexOf.get(row.parent_chat_id) ?? -1;
    indexOf.set(row.chat_id, index);
    return {
      ...UNTOLD,
      timeMs: row.timestamp * 1000,
      inputTokens: row.input_length,
      outputTokens: row.output_length,
      parent,
      opening: () => blocksOf(row, BAILIAN_BLOCK),
    };
  });
}

function timeMsOf(value: number | string | undefined, file: string): number {
  if (typeof value === "number") return value;
  const parsed = typeof value === "string" ? Date.parse(value) : NaN;
  if (Number.isNaN(parsed)) throw new Failure(`${file}: a row has no time`);
  return parsed;
}

function bodyRows(rows: readonly BodyRow[], file: string): LinkedRow[] {
  const endedAt = new Map<string, number>();
  return rows.map((row, index) => {
    const messages = (row.body ?? (row as ChatBody)).messages.map((message) =>
      JSON.stringify(message),
    );
    let parent = -1;
    // A follow-up repeats its parent's messages and adds an answer and something new.
    for (let count = messages.length - 2; count >= 1 && parent < 0; count--) {
      parent = endedAt.get(messages.slice(0, count).join()) ?? -1;
    }
    endedAt.set(messages.join(), index);
    const characters = messages.reduce((sum, message) => sum + message.length, 0);
    return {
      ...UNTOLD,
      timeMs: timeMsOf(row.timestamp ?? row.time, file),
      inputTokens: Math.max(1, Math.round(characters / CHARACTERS_PER_TOKEN)),
      outputTokens: row.output_tokens ?? DEFAULT_OUTPUT_TOKENS,
      parent,
      opening: () => [],
      name: messages.join(),
    };
  });
}

function linkedRows(rows: readonly object[], file: string): LinkedRow[] {
  const first = rows[0];
  if (first === undefined) throw new Failure(`${file}: no rows`);
  if ("chat_id" in first) return bailianRows(rows as BailianRow[]);
  if ("hash_ids" in first) return mooncakeRows(rows as MooncakeRow[]);
  if ("messages" in first || "body" in first) return bodyRows(rows, file);
  throw new Failure(
    `${file}: unknown format; Mooncake and Bailian traces, the filter's records, and chat bodies with time stamps are read`,
  );
}

/** A file as rows in order of time. */
export interface Trace {
  /** The file's name without folder and endings. */
  name: string;
  rows: LinkedRow[];
  /** Lines that were passed over: not of the filter, in an access log. */
  others: number;
}

/** Rows that lack a field of their format are the user's fault, not the program's. */
function rowsOf(file: string, text: string): Pick<Trace, "rows" | "others"> {
  try {
    const { records, others } = recordsIn(text);
    const rows =
      records.length > 0
        ? recordRows(records)
        : sortedByTime(linkedRows(parseJsonLines<object>(file, text), file));
    const isWhole = ({ timeMs, inputTokens, outputTokens }: LinkedRow): boolean =>
      [timeMs, inputTokens, outputTokens].every(Number.isFinite);
    if (rows.every(isWhole)) return { rows, others: records.length > 0 ? others : 0 };
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
  }
  throw new Failure(`${file}: not every row has the fields of the first row's format`);
}

/**
 * Reads a user's trace or access log.
 * @throws Failure for a missing file, broken JSON, or an unknown format
 */
export function readTrace(file: string): Trace {
  const name = basename(file).replace(/\..*$/, "");
  return { name, ...rowsOf(file, readText(file)) };
}

/**
 * A workload from a user's file: its sessions, in random order.
 * @throws Failure as `readTrace` does
 */
export function traceFileSource(
  file: string,
  options: { seed: number; gapCapMs: number },
): SessionSource {
  const { name, rows } = readTrace(file);
  return linkedSource(name, rows, options);
}

/** Rows in order of time, parents renumbered. */
function sortedByTime(rows: readonly LinkedRow[]): LinkedRow[] {
  const order = rows
    .map((_, index) => index)
    .sort((a, b) => rows[a]!.timeMs - rows[b]!.timeMs || a - b);
  const placeOf = new Map(order.map((index, place) => [index, place]));
  return order.map((index) => {
    const row = rows[index]!;
    return { ...row, parent: row.parent < 0 ? -1 : placeOf.get(row.parent)! };
  });
}
