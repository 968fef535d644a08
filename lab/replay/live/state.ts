// SPDX-License-Identifier: Apache-2.0
// What the live page is told: the state of every arm, as plain data over server-sent events.

/** One moment of one arm: means over the last 30 seconds of simulated time. */
export interface ArmPoint {
  /** Simulated seconds since the arm began. */
  t: number;
  inFlight: number[];
  hitRate: number | null;
  hitPossible: number | null;
  ttftP50S: number | null;
}

/** Totals of one arm so far. */
export interface ArmTotals {
  requests: number;
  errors: number;
  hitRate: number;
  hitPossible: number;
  ttftP50S: number;
  ttftP99S: number;
  tokensPerS: number;
  finishedSessions: number;
  /** Per endpoint: share of prompt tokens found in its cache, and tokens done. */
  endpointHitRate: number[];
  endpointTokens: number[];
}

export interface ArmState {
  name: string;
  state: "running" | "done";
  points: ArmPoint[];
  totals: ArmTotals;
}

export interface LiveState {
  title: string;
  /** What runs now, in words. */
  phase: string;
  facts: string[];
  arms: ArmState[];
}

/** One server-sent event: the whole state at first, then only what is new. */
export type LiveEvent =
  | { type: "state"; state: LiveState }
  | { type: "phase"; phase: string }
  | { type: "point"; arm: string; point: ArmPoint; totals: ArmTotals; state: "running" | "done" };
