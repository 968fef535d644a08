// SPDX-License-Identifier: Apache-2.0
// Pieces of system items in front of a conversation, while it is open which items those are: roles may come last.
import { Token } from "../json/sink";
import { Conversation } from "./conversation";
import { Frame, PARTS } from "./frame";
import { FrameStack } from "./frame-stack";
import { HeadSection } from "./head-section";
import { Item } from "./item";
import { Mark, Place } from "./place";

/** Whether the item at hand may be a system item that belongs to the head. */
export function mayLead(item: Item, conversation: Conversation): bool {
  return conversation.isLeading && (item.role == Mark.System || item.role == Mark.None);
}

/** A long text has come to another piece. Alone it has the same pieces as a list with it as the only part. */
export function addLeadingPiece(
  leading: HeadSection,
  conversation: Conversation,
  frames: FrameStack,
  token: Token,
): void {
  const parent = frames.parent;
  const isInList = frames.top.place == Place.Part && parent.isArray;
  leading.addPieceOfItem(conversation.tally, isInList ? parent.sum : PARTS, token);
}

/** A part of a list has ended. */
export function addLeadingPart(
  leading: HeadSection,
  item: Item,
  conversation: Conversation,
  list: Frame,
): void {
  if (list.place != Place.Content || !mayLead(item, conversation)) return;
  leading.addPartOfItem(conversation.tally, list.sum);
}
