// SPDX-License-Identifier: Apache-2.0
// The keys of a request body outside the conversation: one table for all wire formats.
import { Grammar } from "./grammar";
import { Place } from "./place";
import { addSessionFields } from "./session-fields";

/** Leads from the body to the places of its keys. */
export const BODY: Grammar = bodyGrammar();

function bodyGrammar(): Grammar {
  const grammar = new Grammar();
  // Which key holds the conversation is up to the table of dialects.
  grammar
    .key(Place.Top, "messages", Place.Items)
    .key(Place.Top, "input", Place.Items)
    .key(Place.Top, "prompt", Place.Items)
    .element(Place.Items, Place.Item)
    .element(Place.Prompt, Place.PromptToken);

  grammar
    .key(Place.Top, "tools", Place.Tools)
    .key(Place.Top, "functions", Place.Tools)
    .key(Place.Top, "system", Place.System)
    .key(Place.Top, "instructions", Place.System)
    .key(Place.Top, "chat_template", Place.HeadExtra)
    .key(Place.Top, "chat_template_kwargs", Place.HeadExtra)
    .key(Place.Top, "documents", Place.HeadExtra)
    .key(Place.Top, "reasoning_effort", Place.HeadExtra)
    .element(Place.Tools, Place.Tool)
    .key(Place.Tool, "function", Place.Tool)
    .key(Place.Tool, "cache_control", Place.Ignored)
    .other(Place.Tool, Place.Ordered)
    .element(Place.System, Place.Part)
    .element(Place.HeadExtra, Place.Value)
    .other(Place.HeadExtra, Place.Value);

  grammar
    .key(Place.Top, "model", Place.Model)
    .key(Place.Top, "lora", Place.Adapter)
    .key(Place.Top, "lora_name", Place.Adapter)
    .key(Place.Top, "lora_path", Place.Adapter)
    .key(Place.Top, "cache_salt", Place.CacheSalt)
    .key(Place.Top, "extra_key", Place.CacheSalt)
    .key(Place.Top, "stream", Place.Stream)
    .key(Place.Top, "continue_final_message", Place.ContinueFinal)
    .key(Place.Top, "previous_response_id", Place.PreviousResponse)
    .key(Place.Top, "prompt_cache_key", Place.Cohort);

  addSessionFields(grammar);
  return grammar;
}
