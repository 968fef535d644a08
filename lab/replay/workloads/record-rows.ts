// SPDX-License-Identifier: Apache-2.0
// From the filter's records to rows that know which one they continue: two records that share a hash share that prefix.
import type { LinkedRow, Piece } from "./linked-rows.ts";
import type { ObserveRow } from "./log-lines.ts";

/** Where an answer's length is not told. */
const DEFAULT_OUTPUT_TOKENS = 300;
/** Share of what lies between two boundaries that the model is taken to have written. */
const MODEL_SHARE = 0.3;

/** KV cache is shared within a model and behind one head only; a chain is seeded with its tenant. */
function appOf({ model = "", head = "" }: ObserveRow): string {
  return `${model}/${head}`;
}

function endMsOf({ time_ms, time }: ObserveRow): number {
  return time_ms ?? (typeof time === "string" ? Date.parse(time) : (time ?? NaN));
}

function inputTokensOf(record: ObserveRow): number {
  return Math.max(1, record.reported_prompt_tokens ?? record.prompt_tokens);
}

/** What the record's own estimates have to be multiplied by: the filter learns that only with time. */
function scaleOf(record: ObserveRow): number {
  return inputTokensOf(record) / Math.max(1, record.prompt_tokens);
}

/** Tokens of each app's head, from its shortest prompt: there the estimate errs least. */
function headsOf(records: readonly ObserveRow[]): Map<string, number> {
  const shortest = new Map<string, ObserveRow>();
  for (const record of records) {
    const before = shortest.get(appOf(record));
    if (before === undefined || inputTokensOf(record) < inputTokensOf(before)) {
      shortest.set(appOf(record), record);
    }
  }
  const heads = new Map<string, number>();
  for (const [app, record] of shortest) {
    const tokens = Math.round((record.head_tokens ?? 0) * scaleOf(record));
    heads.set(app, Math.max(0, Math.min(tokens, inputTokensOf(record) - 1)));
  }
  return heads;
}

/** Runs and what follows them, so that a conversation that began before the log shows its true turn. */
function openingOf(record: ObserveRow, prefix: string): Piece[] {
  const pieces: Piece[] = [];
  const scale = scaleOf(record);
  let [runs, tokens] = [0, 0];
  for (const boundary of record.boundaries.slice(0, -1)) {
    const name = `${prefix}/${boundary.hash}`;
    const steps = boundary.runs - runs;
    const grown = Math.max(0, boundary.tokens * scale - tokens);
    if (steps <= 0) pieces.push({ name, tokens: Math.max(1, Math.round(grown)), role: "user" });
    for (let step = 0; step < steps; step++) {
      const written = Math.max(1, Math.round((grown / steps) * MODEL_SHARE));
      const asked = Math.max(1, Math.round(grown / steps) - written);
      pieces.push({ name: `${name}/${step}`, tokens: written, role: "assistant" });
      pieces.push({ name: `${name}/${step}+`, tokens: asked, role: "user" });
    }
    [runs, tokens] = [boundary.runs, boundary.tokens * scale];
  }
  const last = record.turn - 1 - runs;
  if (pieces.length > 0 && last > 0) {
    const name = `${prefix}/${record.boundaries.at(-1).hash}/run`;
    pieces.push({ name, tokens: 1, role: "assistant" });
  }
  return pieces;
}

/** Conversations of a log in order of their start; other requests are left out. */
export function recordRows(records: readonly ObserveRow[]): LinkedRow[] {
  const conversations = records
    .filter((record) => record.turn > 0 && record.boundaries.length > 0)
    .map((record) => ({ record, startMs: endMsOf(record) - (record.duration_ms ?? 0) }))
    .sort((a, b) => a.startMs - b.startMs);
  const heads = headsOf(conversations.map(({ record }) => record));
  const endedAt = new Map<string, number>();
  return conversations.map(({ record, startMs }, index) => {
    const app = appOf(record);
    const prefix = `${record.tenant ?? ""}/${app}`;
    const nameOf = ({ hash }: { hash: string }): string => `${prefix}/${hash}`;
    const known = record.boundaries.slice(0, -1).map(nameOf).reverse();
    const parent = known.find((name) => endedAt.has(name));
    const from = parent === undefined ? -1 : endedAt.get(parent)!;
    const name = nameOf(record.boundaries.at(-1));
    endedAt.set(name, index);
    return {
      timeMs: startMs,
      durationMs: record.duration_ms ?? null,
      inputTokens: inputTokensOf(record),
      outputTokens: record.output_tokens ?? DEFAULT_OUTPUT_TOKENS,
      parent: from,
      opening: () => openingOf(record, prefix),
      name,
      app,
      headTokens: heads.get(app)!,
      served: {
        endpoint: record.endpoint ?? null,
        cachedTokens: record.cached_tokens ?? null,
        ttftMs: record.ttft_ms ?? null,
        pinned: record.pinned ?? false,
      },
    };
  });
}
