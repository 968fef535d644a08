// SPDX-License-Identifier: Apache-2.0
// Anthropic Messages: items of two roles whose blocks carry tool calls, results and thinking.
import { PathKind } from "../paths";
import { Mark, Place } from "../place";
import { Dialect } from "../request";
import { Format } from "./format";
import { addParts } from "./parts";

/** Its blocks are among the shared parts: gateways mix them into chat bodies, too. */
export function messagesFormat(): Format {
  const format = new Format(Dialect.Messages, "messages", Place.Items, PathKind.Messages);
  const grammar = format.grammar;
  addParts(grammar);

  grammar
    .key(Place.Item, "role", Place.Role)
    .key(Place.Item, "content", Place.Content)
    .key(Place.Item, "id", Place.Ignored)
    .key(Place.Item, "cache_control", Place.Ignored)
    .other(Place.Item, Place.Value);

  // A system item in the middle is the client's, as any other.
  grammar.mark(Place.Role, "assistant", Mark.Model).mark(Place.Role, "system", Mark.System);
  return format;
}
