// SPDX-License-Identifier: Apache-2.0
// How a stream ended for the filter: every stream ends in exactly one outcome.

export enum Outcome {
  /** Another path or method: forwarded untouched, at next to no cost. */
  Passed = 0,
  /** An LLM path, but no body to read. */
  NoBody = 1,
  /** The body is compressed: never scanned. */
  Encoded = 2,
  /** Read to its end: a conversation. */
  Conversation = 3,
  /** Read to its end: a prompt without turns. */
  Prompt = 4,
  /** Well-formed JSON that holds no conversation. */
  NotConversation = 5,
  /** Not JSON. */
  Malformed = 6,
  /** The body ended inside the document. */
  Truncated = 7,
  /** Released at `hold_cap_bytes` (or the learned cap) with the best answer so far. */
  OverCap = 8,
  /** No new byte for `hold_stall_ms`: released with the best answer so far. */
  Stalled = 9,
  /** The client left before the body was read. */
  Aborted = 10,
  /** Decided from the agent's headers alone (`trust_agent_headers`): the body was not read. */
  Hinted = 11,
  /** Answered with 429: no place was left to wait in. */
  Refused = 12,
}

export const OUTCOMES: i32 = 13;

/** Name of an outcome as counters and `inspect` write it. */
export function outcomeName(outcome: Outcome): string {
  switch (outcome) {
    case Outcome.NoBody:
      return "no_body";
    case Outcome.Encoded:
      return "encoded";
    case Outcome.Conversation:
      return "conversation";
    case Outcome.Prompt:
      return "prompt";
    case Outcome.NotConversation:
      return "not_conversation";
    case Outcome.Malformed:
      return "malformed";
    case Outcome.Truncated:
      return "truncated";
    case Outcome.OverCap:
      return "over_cap";
    case Outcome.Stalled:
      return "stalled";
    case Outcome.Aborted:
      return "aborted";
    case Outcome.Hinted:
      return "hinted";
    case Outcome.Refused:
      return "refused";
    default:
      return "passed";
  }
}
