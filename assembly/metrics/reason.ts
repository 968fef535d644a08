// SPDX-License-Identifier: Apache-2.0
// Why a decision was taken: the one enum that counters, headers, logs and tests read.

export enum Reason {
  /** Not an LLM request, or nothing to decide. */
  None = 0,
  /** No turn of this conversation was served here: Envoy's least request places it. */
  FirstTurn = 1,
  /** A verified follow-up goes to the endpoint that holds its prefix. */
  Home = 2,
  /** History without a home (evicted, restarted, another gateway's): placed like a first turn. */
  Cold = 3,
  /** The home is too loaded: this request goes elsewhere. */
  Spill = 4,
  /** The session moves for good. */
  Migrate = 5,
  /** Server-held history: the endpoint that stored it is the only one that can answer. */
  Held = 6,
  /** Admission held the session back until its context fitted this endpoint. */
  Admitted = 7,
}

export const REASONS: i32 = 8;

/** Name of a reason as counters, headers and logs write it. */
export function reasonName(reason: Reason): string {
  switch (reason) {
    case Reason.FirstTurn:
      return "first_turn";
    case Reason.Home:
      return "home";
    case Reason.Cold:
      return "cold";
    case Reason.Spill:
      return "spill";
    case Reason.Migrate:
      return "migrate";
    case Reason.Held:
      return "held";
    case Reason.Admitted:
      return "admitted";
    default:
      return "none";
  }
}
