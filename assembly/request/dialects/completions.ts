// SPDX-License-Identifier: Apache-2.0
// Legacy completions: a prompt that the client has rendered, as text or as token ids. It has a prefix and no turns.
import { PathKind } from "../paths";
import { Place } from "../place";
import { Dialect } from "../request";
import { Format } from "./format";

export function completionsFormat(): Format {
  return new Format(Dialect.Completions, "prompt", Place.Prompt, PathKind.Completions);
}
