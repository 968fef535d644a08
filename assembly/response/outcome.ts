// SPDX-License-Identifier: Apache-2.0
// What came back for one request: plain data that the reader fills and memory learns from.

/** Why the model stopped, in one vocabulary for all dialects. */
export enum FinishReason {
  /** Not told, or not yet. */
  Unknown = 0,
  /** The answer is complete: the user's turn. */
  EndTurn = 1,
  /** The model waits for a tool. */
  ToolUse = 2,
  /** Cut at the token limit. */
  Length = 3,
  /** Filtered, refused, aborted, failed. */
  Other = 4,
}

/** A token count that the answer did not tell. */
export const NOT_TOLD: i32 = -1;

/** Reused from stream to stream: `reset` before use. */
export class Outcome {
  /** Bytes of a body came back. */
  firstByte: bool = false;
  /** It is compressed or of no known type: nothing of it can be read, and no end of it is seen. */
  opaque: bool = false;
  /**
   * An event stream has brought the first event that stands for generated tokens: the moment of TTFT. Never set
   * by a JSON answer, which comes as a whole at its end.
   */
  firstToken: bool = false;
  /** The answer ended as its dialect says it must; false where it was cut. */
  complete: bool = false;
  finishReason: FinishReason = FinishReason.Unknown;
  /** The answer carried a `usage`. */
  hasUsage: bool = false;
  /** Tokens as reported, NOT_TOLD where not. The prompt includes what was cached, in every dialect. */
  promptTokens: i32 = NOT_TOLD;
  cachedTokens: i32 = NOT_TOLD;
  outputTokens: i32 = NOT_TOLD;
  /** The answer tells no cached tokens, and the endpoint is one that leaves them out where there are none. */
  silenceMeansNone: bool = false;
  /** Hash of the answer's id as a text value (what a later `previous_response_id` hashes to); 0 = none. */
  responseId: u64 = 0;

  /** Cached tokens as told, or 0 where silence says so; NOT_TOLD where nothing is known. All conclusions ask here. */
  get knownCachedTokens(): i32 {
    return this.silenceMeansNone ? 0 : this.cachedTokens;
  }

  reset(): void {
    this.firstByte = false;
    this.opaque = false;
    this.firstToken = false;
    this.complete = false;
    this.finishReason = FinishReason.Unknown;
    this.hasUsage = false;
    this.promptTokens = NOT_TOLD;
    this.cachedTokens = NOT_TOLD;
    this.outputTokens = NOT_TOLD;
    this.silenceMeansNone = false;
    this.responseId = 0;
  }
}
