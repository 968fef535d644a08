// SPDX-License-Identifier: Apache-2.0
// Trace files that users bring: what format a file has is read off its first row.
import { basename } from "node:path";
import { Failure } from "../../../cli/failure.ts";
import { readJsonLines } from "./data-file.ts";
import { type LinkedRow, linkedSource } from "./linked-rows.ts";
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

/** The filter's own record of a request; `prefix` fields and hashes, no text. */
interface ObserveRow {
  time_ms?: number;
  time?: number | string;
  tenant?: string;
  session_key?: string;
  turn: number;
  prompt_tokens: number;
  output_tokens?: number;
  boundaries: { hash: string; runs: number; tokens: number }[];
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

function mooncakeRows(rows: readonly MooncakeRow[]): LinkedRow[] {
  const endedAt = new Map<number, number>();
  return rows.map((row, index) => {
    const full = Math.floor(row.input_length / MOONCAKE_BLOCK);
    // A follow-up holds all full blocks of its parent; the first block alone is everybody's.
    let parent = -1;
    for (let i = full - 1; i >= 1 && parent < 0; i--) parent = endedAt.get(row.hash_ids[i]!) ?? -1;
    if (full >= 2) endedAt.set(row.hash_ids[full - 1]!, index);
    return {
      timeMs: row.timestamp,
      inputTokens: row.input_length,
      outputTokens: row.output_length,
      parent,
      blocks: row.hash_ids,
      blockTokens: MOONCAKE_BLOCK,
    };
  });
}

function bailianRows(rows: readonly BailianRow[]): LinkedRow[] {
  const indexOf = new Map<number, number>();
  return rows.map((row, index) => {
    const parent = indexOf.get(row.parent_chat_id) ?? -1;
    indexOf.set(row.chat_id, index);
    return {
      timeMs: row.timestamp * 1000,
      inputTokens: row.input_length,
      outputTokens: row.output_length,
      parent,
      blocks: row.hash_ids,
      blockTokens: BAILIAN_BLOCK,
    };
  });
}

function timeMsOf(value: number | string | undefined, file: string): number {
  if (typeof value === "number") return value;
  const parsed = typeof value === "string" ? Date.parse(value) : NaN;
  if (Number.isNaN(parsed)) throw new Failure(`${file}: a row has no time`);
  return parsed;
}

function observeRows(rows: readonly ObserveRow[], file: string): LinkedRow[] {
  const endedAt = new Map<string, number>();
  const linked: LinkedRow[] = [];
  for (const row of rows) {
    if (row.turn < 1 || row.boundaries.length === 0) continue;
    const name = (hash: string): string => `${row.tenant ?? ""}/${hash}`;
    const known = row.boundaries.slice(0, -1).reverse();
    const parentHash = known.find(({ hash }) => endedAt.has(name(hash)));
    endedAt.set(name(row.boundaries.at(-1).hash), linked.length);
    linked.push({
      timeMs: timeMsOf(row.time_ms ?? row.time, file),
      inputTokens: Math.max(1, row.prompt_tokens),
      outputTokens: row.output_tokens ?? DEFAULT_OUTPUT_TOKENS,
      parent: parentHash === undefined ? -1 : endedAt.get(name(parentHash.hash))!,
      blocks: [],
      blockTokens: 1,
    });
  }
  return linked;
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
      timeMs: timeMsOf(row.timestamp ?? row.time, file),
      inputTokens: Math.max(1, Math.round(characters / CHARACTERS_PER_TOKEN)),
      outputTokens: row.output_tokens ?? DEFAULT_OUTPUT_TOKENS,
      parent,
      blocks: [],
      blockTokens: 1,
    };
  });
}

function linkedRows(rows: readonly object[], file: string): LinkedRow[] {
  const first = rows[0];
  if (first === undefined) throw new Failure(`${file}: no rows`);
  if ("chat_id" in first) return bailianRows(rows as BailianRow[]);
  if ("hash_ids" in first) return mooncakeRows(rows as MooncakeRow[]);
  if ("boundaries" in first) return observeRows(rows as ObserveRow[], file);
  if ("messages" in first || "body" in first) return bodyRows(rows, file);
  throw new Failure(
    `${file}: unknown format; Mooncake and Bailian traces, the filter's records, and chat bodies with time stamps are read`,
  );
}

/** Rows that lack a field of their format are the user's fault, not the program's. */
function rowsOf(file: string): LinkedRow[] {
  const rows = readJsonLines<object>(file);
  try {
    const linked = linkedRows(rows, file);
    const isWhole = ({ timeMs, inputTokens, outputTokens, blocks }: LinkedRow): boolean =>
      [timeMs, inputTokens, outputTokens].every(Number.isFinite) && Array.isArray(blocks);
    if (linked.every(isWhole)) return linked;
  } catch (fault) {
    if (!(fault instanceof TypeError)) throw fault;
  }
  throw new Failure(`${file}: not every row has the fields of the first row's format`);
}

/**
 * A workload from a user's file.
 * @throws Failure for a missing file, broken JSON, or an unknown format
 */
export function traceFileSource(
  file: string,
  options: { seed: number; gapCapMs: number },
): SessionSource {
  const rows = rowsOf(file);
  const byTime = sortedByTime(rows);
  return linkedSource(basename(file).replace(/\..*$/, ""), byTime, options);
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
