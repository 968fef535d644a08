// SPDX-License-Identifier: Apache-2.0
// How much KV the live sessions of a log would fill together: what decides whether admission is worth it.
import type { FleetPlan } from "../replay/drivers/driver.ts";
import type { Log } from "./log.ts";

interface Change {
  atMs: number;
  tokens: number;
}

/** Growth of one session's context, and its end. */
function changesOf(log: Log, tree: readonly number[]): Change[] {
  const changes: Change[] = [];
  let [tokens, endMs] = [0, 0];
  for (const index of tree) {
    const { timeMs, durationMs, inputTokens, outputTokens } = log.rows[index]!;
    const size = Math.max(tokens, inputTokens + outputTokens);
    changes.push({ atMs: timeMs, tokens: size - tokens });
    tokens = size;
    endMs = Math.max(endMs, timeMs + (durationMs ?? 0));
  }
  changes.push({ atMs: endMs, tokens: -tokens });
  return changes;
}

/** Most tokens that the contexts of live sessions have at any time; a session lives from its first call to its last. */
export function peakContextTokens(log: Log): number {
  const changes = log.trees
    .flatMap((tree) => changesOf(log, tree))
    .sort((a, b) => a.atMs - b.atMs || a.tokens - b.tokens);
  let [tokens, peak] = [0, 0];
  for (const change of changes) {
    tokens += change.tokens;
    peak = Math.max(peak, tokens);
  }
  return peak;
}

/** The same over the KV capacity of all endpoints together. */
export function contextShare(log: Log, fleet: FleetPlan): number {
  return peakContextTokens(log) / (fleet.endpoints * fleet.kvTokens);
}
