// SPDX-License-Identifier: Apache-2.0
// What is noted of one replayed call, whichever driver replays it: times are simulated milliseconds.

/** What a driver knows of a call once it has ended. */
export interface CallRecord {
  session: string;
  app: string;
  /** Index of the call in its session. */
  call: number;
  /** True turn. */
  turn: number;
  /** Index of the endpoint that served it, -1 when none did. */
  endpoint: number;
  startedMs: number;
  /** First token at the client; equal to `endedMs` when it failed before. */
  firstTokenMs: number;
  endedMs: number;
  promptTokens: number;
  /** Prompt tokens found in the endpoint's own prefix cache. */
  localTokens: number;
  /** Prompt tokens fetched from the fleet's global tier. */
  fetchedTokens: number;
  /** Prompt tokens that one engine with an infinite cache would have found. */
  possibleTokens: number;
  outputTokens: number;
  /** Times that the engine threw this call out and computed it again. */
  preemptions: number;
  /** Time that the gateway held the call back. */
  holdMs: number;
  /** Time in the engine's queue before the first step. */
  queueMs: number;
  /** Time in which KV was fetched from a tier. */
  fetchMs: number;
  /** The structural turn that the filter wrote, null without the filter or its header. */
  seenTurn: number | null;
  /** The verified turn that the filter wrote. */
  verifiedTurn: number | null;
  /** The filter's decision (a reason's name). */
  decision: string | null;
  /** Think or tool time before this call. */
  gapMs: number;
  gap: "start" | "tool" | "think";
  /** Why the call failed, null when it did not. */
  error: string | null;
}

/** Everything noted of one arm. */
export interface ArmRun {
  arm: string;
  endpoints: number;
  records: CallRecord[];
  /** Sessions replayed whole: they alone make jobs. */
  finishedSessions: Set<string>;
  /** Sessions that the end of the run cut off. */
  unfinishedSessions: number;
  /** Calls that start before this moment are warm-up and are not measured. */
  measureFromMs: number;
  /** End of the measured time. */
  endMs: number;
}

export function cachedTokensOf(record: CallRecord): number {
  return record.localTokens + record.fetchedTokens;
}
