// SPDX-License-Identifier: Apache-2.0
// What must be done about a value before it comes, told from its place and that of its parent.
import { Place } from "./place";
import { isItemText, isKept, isPieced, isPrinted, isSingular } from "./place-rules";
import { mediaTokens } from "./token-costs";

/** Bits of a row: a place, and the traits above it. Most keys have none. */
export const PLACE_BITS: i32 = 8;
const PLACE_MASK: i32 = (1 << PLACE_BITS) - 1;

/** A second value of this place is a second key of the same name. */
export const SINGULAR: i32 = 1 << PLACE_BITS;
/** The key itself is printed for the model. */
export const PRINTED: i32 = 2 << PLACE_BITS;
/** The text itself is read. */
export const KEPT: i32 = 4 << PLACE_BITS;
/** The text is reported in pieces. */
export const PIECED: i32 = 8 << PLACE_BITS;
/** It is text of an item. */
export const ITEM_TEXT: i32 = 16 << PLACE_BITS;
/** It counts as a fixed number of tokens. */
export const MEDIA: i32 = 32 << PLACE_BITS;
/** It is a value of the body itself. */
export const FIELD: i32 = 64 << PLACE_BITS;

/** A place below `parent`, with its traits. */
export function rowOf(parent: Place, child: Place): i32 {
  let row = <i32>child;
  if (parent == Place.Top) return row | FIELD;
  if (isSingular(child)) row |= SINGULAR;
  if (isPrinted(parent, child)) row |= PRINTED;
  return row | textTraits(child);
}

/** Traits of what a place holds, whatever stands around it. */
export function textTraits(place: Place): i32 {
  if (isKept(place)) return KEPT;
  if (isPieced(place)) return PIECED;
  if (isItemText(place)) return ITEM_TEXT;
  return mediaTokens(place) > 0 ? MEDIA : 0;
}

// @ts-ignore: decorator
@inline
export function placeOf(row: i32): Place {
  return <Place>(row & PLACE_MASK);
}

// @ts-ignore: decorator
@inline
export function hasTraits(row: i32): bool {
  return row > PLACE_MASK;
}
