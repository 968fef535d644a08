// SPDX-License-Identifier: Apache-2.0
// OpenAI Responses: typed items, several of which make up one answer.
import { PathKind } from "../paths";
import { Mark, Place } from "../place";
import { Dialect } from "../request";
import { Format } from "./format";
import { addParts } from "./parts";

export function responsesFormat(): Format {
  const format = new Format(Dialect.Responses, "input", Place.Items, PathKind.Responses);
  const grammar = format.grammar;
  format.countsOpenRun = true;
  addParts(grammar);

  grammar
    .key(Place.Item, "type", Place.ItemType)
    .key(Place.Item, "role", Place.Role)
    .key(Place.Item, "content", Place.Content)
    .key(Place.Item, "output", Place.Content)
    .key(Place.Item, "arguments", Place.Ordered)
    .key(Place.Item, "call_id", Place.OwnId)
    .key(Place.Item, "approval_request_id", Place.AnswersId)
    .key(Place.Item, "id", Place.ReferenceId)
    .key(Place.Item, "encrypted_content", Place.Sealed)
    .key(Place.Item, "execution", Place.Execution)
    .key(Place.Item, "tools", Place.Ordered)
    .key(Place.Item, "status", Place.Ignored)
    .key(Place.Item, "phase", Place.Ignored)
    .key(Place.Item, "summary", Place.Reasoning)
    .key(Place.Item, "annotations", Place.Ignored)
    .key(Place.Item, "logprobs", Place.Ignored)
    .other(Place.Item, Place.Value);

  grammar
    .mark(Place.Role, "assistant", Mark.Model)
    .mark(Place.Role, "system", Mark.System)
    .mark(Place.Role, "developer", Mark.System);

  grammar
    .mark(Place.ItemType, "message", Mark.Message)
    .mark(Place.ItemType, "reasoning", Mark.ReasoningItem)
    .mark(Place.ItemType, "compaction", Mark.CompactionItem)
    .mark(Place.ItemType, "item_reference", Mark.ReferenceItem)
    .mark(Place.ItemType, "mcp_list_tools", Mark.Model)
    .mark(Place.ItemType, "program", Mark.Model)
    .mark(Place.ItemType, "program_output", Mark.Model)
    .mark(Place.ItemType, "tool_search_output", Mark.SearchOutput)
    .mark(Place.ItemType, "additional_tools", Mark.Client)
    .mark(Place.ItemType, "compaction_trigger", Mark.Client)
    .mark(Place.ItemType, "mcp_approval_response", Mark.Client);

  // Types that are not named above say by their ending who wrote them.
  grammar
    .ending(Place.ItemType, "_call", Mark.Model)
    .ending(Place.ItemType, "_request", Mark.Model)
    .ending(Place.ItemType, "_output", Mark.Client);
  return format;
}
