// SPDX-License-Identifier: Apache-2.0
// OpenAI chat completions, with what vLLM, Mistral, DeepSeek, Qwen and Kimi add to them.
import { PathKind } from "../paths";
import { Mark, Place } from "../place";
import { Dialect } from "../request";
import { Format } from "./format";
import { addParts } from "./parts";

export function chatFormat(): Format {
  const format = new Format(Dialect.Chat, "messages", Place.Items, PathKind.Chat);
  const grammar = format.grammar;
  addParts(grammar);

  grammar
    .key(Place.Item, "role", Place.Role)
    .key(Place.Item, "content", Place.Content)
    .key(Place.Item, "tool_calls", Place.Calls)
    .key(Place.Item, "function_call", Place.Function)
    .key(Place.Item, "tool_call_id", Place.AnswersId)
    .key(Place.Item, "refusal", Place.Refusal)
    .key(Place.Item, "audio", Place.Generated)
    .key(Place.Item, "prefix", Place.ItemPrefill)
    .key(Place.Item, "partial", Place.ItemPrefill)
    .key(Place.Item, "reasoning", Place.Reasoning)
    .key(Place.Item, "reasoning_content", Place.Reasoning)
    .key(Place.Item, "reasoning_details", Place.Reasoning)
    .key(Place.Item, "reasoning_items", Place.Reasoning)
    .key(Place.Item, "thinking", Place.Reasoning)
    .key(Place.Item, "thinking_blocks", Place.Reasoning)
    .key(Place.Item, "tool_plan", Place.Refusal)
    .key(Place.Item, "images", Place.Image)
    .key(Place.Item, "id", Place.Ignored)
    .key(Place.Item, "status", Place.Ignored)
    .key(Place.Item, "phase", Place.Ignored)
    .key(Place.Item, "annotations", Place.Ignored)
    .key(Place.Item, "logprobs", Place.Ignored)
    .key(Place.Item, "cache_control", Place.Ignored)
    .key(Place.Item, "prompt_cache_breakpoint", Place.Ignored)
    .other(Place.Item, Place.Value);

  grammar
    .mark(Place.Role, "assistant", Mark.Model)
    .mark(Place.Role, "system", Mark.System)
    .mark(Place.Role, "developer", Mark.System);

  grammar
    .element(Place.Calls, Place.Call)
    .key(Place.Call, "function", Place.Function)
    .key(Place.Call, "custom", Place.Function)
    .key(Place.Call, "id", Place.Ignored)
    .key(Place.Call, "index", Place.Ignored)
    .other(Place.Call, Place.Value)
    .key(Place.Function, "arguments", Place.Ordered)
    .other(Place.Function, Place.Value);
  return format;
}
