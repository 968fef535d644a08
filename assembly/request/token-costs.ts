// SPDX-License-Identifier: Apache-2.0
// Tokens that stand for no text of the request: what templates put around it, and media.
import { Place } from "./place";

/** Around an item: markers, role, line breaks. */
export const ITEM_TOKENS: u32 = 5;
/** Around a tool call: markers, and the JSON of name and arguments. */
export const CALL_TOKENS: u32 = 12;

/** Tokens of a picture, clip or file, whatever its bytes: those of a typical one in open models. */
const IMAGE_TOKENS: u32 = 1_000;
const AUDIO_TOKENS: u32 = 500;
const VIDEO_TOKENS: u32 = 4_000;
const FILE_TOKENS: u32 = 2_000;

export function mediaTokens(place: Place): u32 {
  switch (place) {
    case Place.Image:
      return IMAGE_TOKENS;
    case Place.Audio:
      return AUDIO_TOKENS;
    case Place.Video:
      return VIDEO_TOKENS;
    case Place.File:
      return FILE_TOKENS;
    default:
      return 0;
  }
}

/** Tokens of a container as such; a call may stand alone, without a list of calls. */
// @ts-ignore: decorator
@inline
export function containerTokens(place: Place, parent: Place, isArray: bool): u32 {
  if (place == Place.Ordered) return isArray ? 1 : 0;
  if (place == Place.Call) return CALL_TOKENS;
  return place == Place.Function && parent == Place.Item ? CALL_TOKENS : 0;
}
