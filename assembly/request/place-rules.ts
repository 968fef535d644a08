// SPDX-License-Identifier: Apache-2.0
// Small questions about places, each with one answer for all wire formats.
import { Place } from "./place";

/** The place of a container: some places take only one kind, or mean something else as the other. */
export function containerPlace(place: Place, isArray: bool): Place {
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
