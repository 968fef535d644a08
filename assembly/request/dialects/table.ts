// SPDX-License-Identifier: Apache-2.0
// The wire formats: one row each. The keys of a body choose the row; the path decides only between equals.
import { hashName } from "../../hash/text";
import { PathKind } from "../paths";
import { chatFormat } from "./chat";
import { completionsFormat } from "./completions";
import { Format } from "./format";
import { messagesFormat } from "./messages";
import { responsesFormat } from "./responses";

/** The first row whose list a body holds wins, unless a later one is what the path says. */
const FORMATS: Format[] = [chatFormat(), messagesFormat(), responsesFormat(), completionsFormat()];
const LIST_KEYS: u64[] = FORMATS.map<u64>((format) => hashName(format.listKey));

/** No key of this hash holds a conversation. */
export const NO_FORMAT: i32 = -1;

export function formatAt(row: i32): Format {
  return unchecked(FORMATS[row]);
}

/** Row of the format that has its conversation under a key, as the path prefers. */
export function findFormat(listKey: u64, path: PathKind): i32 {
  let found = NO_FORMAT;
  for (let row = 0; row < FORMATS.length; row++) {
    if (unchecked(LIST_KEYS[row]) != listKey) continue;
    if (speaks(row, path)) return row;
    if (found == NO_FORMAT) found = row;
  }
  return found;
}

/** Whether a path speaks the format of a row. */
export function speaks(row: i32, path: PathKind): bool {
  const kind = path == PathKind.Compact ? PathKind.Responses : path;
  return unchecked(FORMATS[row]).path == kind;
}

/** Which of two formats, both with a list in the body, is meant. */
export function outranks(row: i32, other: i32, path: PathKind): bool {
  if (speaks(row, path) != speaks(other, path)) return speaks(row, path);
  return row < other;
}
