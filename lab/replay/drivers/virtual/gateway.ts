// SPDX-License-Identifier: Apache-2.0
// What stands between agents and GPUs in virtual time: it sees what a proxy sees and names an endpoint.
import type { Call, Session } from "../../workloads/session.ts";

/** One request as it passes the gateway. A gateway may keep it until `ended`. */
export interface Passage {
  readonly id: number;
  readonly session: Session;
  readonly call: Call;
  /** Length of the prompt in tokens, as a proxy would estimate it. */
  readonly promptTokens: number;
  /** Set by `place`; -1 before. */
  endpoint: number;
  /** What a filter wrote to the upstream request; null where nothing did. */
  seenTurn: number | null;
  verifiedTurn: number | null;
  decision: string | null;
}

/** `usage` as engines report it: cached tokens are local and fetched ones together. */
export interface ReportedUsage {
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
}

/** The answer came whole, but its engine reports no usage. */
export const UNTOLD = "untold";

export interface Gateway {
  /** Chooses `passage.endpoint` and then calls `placed`: at once, or later when the gateway holds the request. */
  place(passage: Passage, nowMs: number, placed: () => void): void;
  firstToken(passage: Passage, nowMs: number): void;
  /** `usage` is null when the request failed. */
  ended(passage: Passage, usage: ReportedUsage | typeof UNTOLD | null, nowMs: number): void;
  /** Health checks found an endpoint dead, or alive again; absent where a gateway knows nothing of that. */
  setAlive?(endpoint: number, alive: boolean): void;
  /** When the gateway has something to do by itself; Infinity when it waits for others. */
  nextMs(): number;
  /** Does what is due. */
  advance(nowMs: number): void;
  /** Frees what the gateway holds. */
  close(): void;
}
