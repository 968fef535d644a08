// SPDX-License-Identifier: Apache-2.0
// The words in which the dialects say why a model stopped, and what they mean.
import { hashName } from "../hash/text";
import { FinishReason } from "./outcome";

const STOP = hashName("stop");
const END_TURN = hashName("end_turn");
const STOP_SEQUENCE = hashName("stop_sequence");
const PAUSE_TURN = hashName("pause_turn");
const TOOL_CALLS = hashName("tool_calls");
const FUNCTION_CALL = hashName("function_call");
const TOOL_USE = hashName("tool_use");
const LENGTH = hashName("length");
const MAX_TOKENS = hashName("max_tokens");
const MAX_OUTPUT_TOKENS = hashName("max_output_tokens");
const CONTEXT_EXCEEDED = hashName("model_context_window_exceeded");

/** Meaning of `finish_reason` (chat, completions), `stop_reason` (Messages), `incomplete_details.reason`. */
export function finishReasonOf(hash: u64): FinishReason {
  if (hash == STOP || hash == END_TURN || hash == STOP_SEQUENCE) return FinishReason.EndTurn;
  if (hash == TOOL_CALLS || hash == TOOL_USE || hash == FUNCTION_CALL || hash == PAUSE_TURN) {
    return FinishReason.ToolUse;
  }
  const cut =
    hash == LENGTH || hash == MAX_TOKENS || hash == MAX_OUTPUT_TOKENS || hash == CONTEXT_EXCEEDED;
  return cut ? FinishReason.Length : FinishReason.Other;
}
