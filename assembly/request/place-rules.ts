// SPDX-License-Identifier: Apache-2.0
// Small questions about places, each with one answer for all wire formats.
import { Place } from "./place";

/** Answers that every container asks for, by place: rows of bytes instead of jumps that depend on the text. */
const PLACES: i32 = 256;
const CONTAINERS: usize = memory.data(2 * 256);
const UNIFORM: usize = memory.data(256);
fillTables();

function fillTables(): void {
  for (let place = 0; place < PLACES; place++) {
    store<u8>(CONTAINERS + 2 * place, <u8>containerOf(<Place>place, false));
    store<u8>(CONTAINERS + 2 * place, <u8>containerOf(<Place>place, true), 1);
    store<u8>(UNIFORM + place, isUniformOf(<Place>place) ? 1 : 0);
  }
}

/** The place of a container: some places take only one kind, or mean something else as the other. */
// @ts-ignore: decorator
@inline
export function containerPlace(place: Place, isArray: bool): Place {
  return <Place>load<u8>(CONTAINERS + ((<usize>place) << 1) + <usize>isArray);
}

/** Places below which all stands at the same place. */
// @ts-ignore: decorator
@inline
export function isUniform(place: Place): bool {
  return load<u8>(UNIFORM + <usize>place) != 0;
}

function containerOf(place: Place, isArray: bool): Place {
  switch (place) {
    case Place.Top:
    case Place.Item:
    case Place.Call:
      return isArray ? Place.Ignored : place;
    case Place.Items:
    case Place.Prompt:
    case Place.Tools:
      return isArray ? place : Place.Ignored;
    case Place.Content:
    case Place.System:
      return isArray ? place : Place.Part;
    case Place.Part:
    case Place.Function:
      return isArray ? Place.Value : place;
    case Place.Text:
    case Place.Refusal:
      return Place.Value;
    default:
      return place;
  }
}

function isUniformOf(place: Place): bool {
  switch (place) {
    case Place.Ignored:
    case Place.Value:
    case Place.Ordered:
    case Place.Reasoning:
    case Place.Image:
    case Place.Audio:
    case Place.Video:
    case Place.File:
      return true;
    default:
      return false;
  }
}

/** Places at which every value counts, of whatever kind. */
export function isHashedWhole(place: Place): bool {
  switch (place) {
    case Place.Value:
    case Place.Ordered:
    case Place.Image:
    case Place.Audio:
    case Place.Video:
    case Place.File:
    case Place.AnswersId:
      return true;
    default:
      return false;
  }
}

/** Places at which the key itself is printed for the model: members of tools, and of items that are neither text nor call. */
export function isPrinted(parent: Place, child: Place): bool {
  if (parent == Place.Tool) return child != Place.Ignored;
  return parent == Place.Item && child == Place.Value;
}

/** Places whose text itself is read, not only its hash. */
export function isKept(place: Place): bool {
  switch (place) {
    case Place.ItemType:
    case Place.Conversation:
    case Place.TurnHint:
    case Place.ParentId:
      return true;
    default:
      return place >= Place.Session;
  }
}

/** Places whose texts are reported in pieces. */
export function isPieced(place: Place): bool {
  return place == Place.System || place == Place.Prompt;
}

/** Places of the text of an item. */
export function isItemText(place: Place): bool {
  return place == Place.Content || place == Place.Text;
}

/** Places that one key leads to, so that a second value is a second key of the same name. */
export function isSingular(place: Place): bool {
  switch (place) {
    case Place.Model:
    case Place.Stream:
    case Place.ContinueFinal:
    case Place.PreviousResponse:
    case Place.Cohort:
    case Place.Tools:
    case Place.System:
    case Place.Role:
    case Place.ItemType:
    case Place.Content:
    case Place.PartType:
    case Place.Text:
    case Place.Calls:
    case Place.AnswersId:
    case Place.OwnId:
      return true;
    default:
      return false;
  }
}
