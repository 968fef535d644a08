// SPDX-License-Identifier: Apache-2.0
// Content: a text, or a list of typed parts. The formats differ in the names of types, so all share these rows.
import { Grammar } from "../grammar";
import { Mark, Place } from "../place";

/** Adds content, parts and calls to the grammar of a format. */
export function addParts(grammar: Grammar): void {
  grammar
    .element(Place.Content, Place.Part)
    .key(Place.Part, "type", Place.PartType)
    .key(Place.Part, "text", Place.Text)
    .key(Place.Part, "refusal", Place.Refusal)
    .key(Place.Part, "content", Place.Content)
    .key(Place.Part, "image_url", Place.Image)
    .key(Place.Part, "image", Place.Image)
    .key(Place.Part, "source", Place.Image)
    .key(Place.Part, "input_audio", Place.Audio)
    .key(Place.Part, "audio_url", Place.Audio)
    .key(Place.Part, "video_url", Place.Video)
    .key(Place.Part, "file", Place.File)
    .key(Place.Part, "file_data", Place.File)
    .key(Place.Part, "input", Place.Ordered)
    .key(Place.Part, "tool_use_id", Place.AnswersId)
    .key(Place.Part, "id", Place.Ignored)
    .key(Place.Part, "cache_control", Place.Ignored)
    .key(Place.Part, "prompt_cache_breakpoint", Place.Ignored)
    .key(Place.Part, "signature", Place.Ignored)
    .key(Place.Part, "encrypted_content", Place.Ignored)
    .key(Place.Part, "annotations", Place.Ignored)
    .key(Place.Part, "citations", Place.Ignored)
    .key(Place.Part, "logprobs", Place.Ignored)
    .other(Place.Part, Place.Value);

  grammar
    .mark(Place.PartType, "text", Mark.TextPart)
    .mark(Place.PartType, "input_text", Mark.TextPart)
    .mark(Place.PartType, "output_text", Mark.TextPart)
    .mark(Place.PartType, "thinking", Mark.ReasoningPart)
    .mark(Place.PartType, "redacted_thinking", Mark.ReasoningPart)
    .mark(Place.PartType, "reasoning", Mark.ReasoningPart)
    .mark(Place.PartType, "tool_use", Mark.GeneratedPart)
    .mark(Place.PartType, "server_tool_use", Mark.GeneratedPart)
    .mark(Place.PartType, "mcp_tool_use", Mark.GeneratedPart)
    .mark(Place.PartType, "mcp_tool_result", Mark.GeneratedPart)
    .mark(Place.PartType, "web_search_tool_result", Mark.GeneratedPart)
    .mark(Place.PartType, "web_fetch_tool_result", Mark.GeneratedPart)
    .mark(Place.PartType, "code_execution_tool_result", Mark.GeneratedPart)
    .mark(Place.PartType, "bash_code_execution_tool_result", Mark.GeneratedPart)
    .mark(Place.PartType, "text_editor_code_execution_tool_result", Mark.GeneratedPart)
    .mark(Place.PartType, "tool_search_tool_result", Mark.GeneratedPart)
    .mark(Place.PartType, "compaction", Mark.GeneratedPart)
    .mark(Place.PartType, "fallback", Mark.GeneratedPart);

  grammar
    .element(Place.Image, Place.Image)
    .other(Place.Image, Place.Image)
    .element(Place.Audio, Place.Audio)
    .other(Place.Audio, Place.Audio)
    .element(Place.Video, Place.Video)
    .other(Place.Video, Place.Video)
    .element(Place.File, Place.File)
    .other(Place.File, Place.File)
    .element(Place.Value, Place.Value)
    .other(Place.Value, Place.Value)
    .element(Place.Ordered, Place.Ordered)
    .other(Place.Ordered, Place.Ordered)
    .element(Place.Reasoning, Place.Reasoning)
    .other(Place.Reasoning, Place.Reasoning)
    .element(Place.Generated, Place.Value)
    .other(Place.Generated, Place.Value);
}
