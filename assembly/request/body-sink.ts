// SPDX-License-Identifier: Apache-2.0
// Gives meaning to the tokens of a request body: each has a place, and each place does one thing with it.
import { fold, member, mix } from "../hash/mix";
import { hashName } from "../hash/text";
import { Container, Literal, Token } from "../json/sink";
import { startsNonce } from "./billing-nonce";
import { BodyState } from "./body-state";
import { Frame, PARTS } from "./frame";
import { KnownTools } from "./known-tools";
import { addLeadingPart, addLeadingPiece, mayLead } from "./leading-text";
import { Mark, Place } from "./place";
import { containerPlace, isHashedWhole } from "./place-rules";
import { CALL_TOKENS, containerTokens, mediaTokens } from "./token-costs";
import { Opening, OPENINGS } from "./openings";
import {
  FIELD,
  hasTraits,
  ITEM_TEXT,
  KEPT,
  MEDIA,
  PIECED,
  placeOf,
  PRINTED,
  SINGULAR,
  textTraits,
} from "./traits";

const KEY_ROLE = hashName("role");
const KEY_CONTENT = hashName("content");
const KEY_TEXT = hashName("text");
const ROLE_USER = hashName("user");
const SERVER = hashName("server");

/** Of all readers. */
const KNOWN_TOOLS = new KnownTools();


@final
export class BodySink extends BodyState {
  begin(kind: Container, token: Token): void {
    const place = this.frames.top.child;
    const isArray = kind == Container.Array;
    if (!this.frames.push(kind)) return this.counting.addMark();
    this.open(this.frames.top, containerPlace(place, isArray), isArray);
  }

  private open(frame: Frame, place: Place, isArray: bool): void {
    frame.open(place, isArray, isArray ? this.grammarOf(place).elementOf(place) : Place.Ignored);
    this.counting.extraTokens += containerTokens(place, this.frames.parent.place, isArray);
    if (place == Place.Item) this.item.begin();
    else if (place == Place.Part) frame.before.copyFrom(this.counting);
    else if (place == Place.Prompt && !isArray) this.prompt.isBatch = true;
    else if (place == Place.PromptToken) this.prompt.isBatch = true;
  }

  end(kind: Container, token: Token): void {
    const frame = this.frames.top;
    if (!this.frames.pop()) return;
    const parent = this.frames.top;
    switch (frame.place) {
      case Place.Ignored:
      case Place.Top:
      case Place.Items:
      case Place.Prompt:
      case Place.PromptToken:
      case Place.Tools:
      case Place.System:
        return;
      case Place.Item:
        this.endItem(frame, token.offset);
        return;
      case Place.Part:
        this.endPart(frame, parent);
        return;
      case Place.Tool:
        if (parent.place == Place.Tools) this.head.tools.add(frame.value);
        else parent.give(frame.value, false);
        return;
      case Place.Reasoning:
        this.item.generated = this.item.generated || frame.count > 0;
        return;
      case Place.HeadExtra:
        if (frame.count > 0) this.head.addExtra(member(parent.key, frame.value));
        return;
      case Place.Calls:
      case Place.Function:
      case Place.Generated:
        this.item.generated = this.item.generated || frame.count > 0;
        break;
    }
    parent.give(frame.value, frame.count == 0);
  }

  key(token: Token): void {
    if (this.frames.isDeep) return this.frames.addDeepText(token, this.counting);
    const frame = this.frames.top;
    frame.key = token.hash;
    if (frame.isUniform) {
      if (frame.isOrdered) this.counting.addPrintedKey(token);
      frame.child = frame.place;
      return;
    }
    const row = this.grammarOf(frame.place).rowOf(frame.place, token.hash);
    frame.child = placeOf(row);
    if (hasTraits(row)) this.expectValue(frame, row, token);
  }

  /** The value of a key at which something must be done before it comes. */
  private expectValue(frame: Frame, row: i32, token: Token): void {
    if (row & FIELD) {
      this.beginField(frame, frame.child, token);
      token.wantKnown = frame.child == Place.Tools;
      row = textTraits(frame.child);
    }
    const child = frame.child;
    if (row & SINGULAR) this.noteTwice(frame, child);
    if (row & PRINTED) this.counting.addPrintedName(token);
    if (row & ITEM_TEXT) {
      if (child == Place.Text && this.isSystemPart) this.beginSystemText(token);
      else if (mayLead(this.item, this.conversation)) token.wantPieces = true;
    } else if (row & PIECED) token.wantPieces = true;
    else if (row & KEPT) token.wantText = true;
    else if (row & MEDIA) this.counting.extraTokens += mediaTokens(child);
  }

  text(token: Token): void {
    if (this.frames.isDeep) return this.frames.addDeepText(token, this.counting);
    const frame = this.frames.top;
    const place = frame.child;
    switch (place) {
      case Place.Ignored:
      case Place.Top:
        return;
      case Place.Text:
        this.takePartText(frame, token);
        return;
      case Place.Value:
      case Place.Ordered:
        this.counting.addText(token);
        frame.give(token.hash, token.bytes == 0);
        return;
      case Place.Content:
        this.counting.addText(token);
        frame.give(fold(PARTS, member(KEY_TEXT, token.hash)), token.bytes == 0);
        return;
      case Place.Part:
        // A bare text in a list of parts is a text part.
        this.counting.addText(token);
        this.givePart(frame, member(KEY_TEXT, token.hash), token.bytes == 0);
        return;
      case Place.Refusal:
        this.counting.addText(token);
        this.item.generated = this.item.generated || token.bytes > 0;
        frame.give(token.hash, token.bytes == 0);
        return;
      case Place.Reasoning:
        this.item.generated = this.item.generated || token.bytes > 0;
        frame.count++;
        return;
      case Place.Role:
        this.item.takeRole(this.itemGrammar.markOf(Place.Role, token.hash));
        frame.give(token.hash, false);
        return;
      case Place.PartType:
        this.takePartType(frame, token.hash);
        return;
      case Place.Items:
        this.takeListText(token);
        return;
      case Place.Prompt:
        this.prompt.addText(token);
        return;
      case Place.PromptToken:
        this.prompt.isBatch = true;
        return;
      case Place.System:
        this.counting.addText(token);
        if (token.bytes > 0) this.head.system.add(member(KEY_TEXT, token.hash));
        return;
      case Place.HeadExtra:
        if (token.bytes > 0) this.head.addExtra(member(frame.key, token.hash));
        return;
      default:
        this.takeOther(frame, place, token);
    }
  }

  number(token: Token): void {
    if (this.frames.isDeep) return this.frames.addDeep(token.hash);
    const place = this.frames.top.child;
    if (place == Place.TurnHint) this.fields.takeTurn(token.value);
    else if (place == Place.PromptToken) this.prompt.addId(token.hash);
    else this.takeScalar(token.hash, false);
  }

  literal(token: Token): void {
    if (this.frames.isDeep) return this.frames.addDeep(token.hash);
    const frame = this.frames.top;
    const isTrue = token.literal == Literal.True;
    if (frame.child == Place.ItemPrefill) this.item.prefill = isTrue;
    else if (frame.place == Place.Top) this.fields.takeFlag(frame.child, isTrue);
    this.takeScalar(token.hash, token.literal == Literal.Null);
  }

  private takeScalar(hash: u64, isEmpty: bool): void {
    const frame = this.frames.top;
    const place = frame.child;
    if (place == Place.HeadExtra && !isEmpty) this.head.addExtra(member(frame.key, hash));
    else if (isHashedWhole(place)) frame.give(hash, isEmpty);
    if (place == Place.Ordered) this.counting.addMark();
  }

  /** Rare places of a text. */
  private takeOther(frame: Frame, place: Place, token: Token): void {
    if (place < Place.Item || place >= Place.Session) return this.fields.takeText(place, token);
    switch (place) {
      case Place.OwnId:
        this.item.ownId = member(frame.key, token.hash);
        return;
      case Place.Sealed:
        this.item.sealed = member(frame.key, token.hash);
        return;
      case Place.ReferenceId:
        if (token.bytes > 0) this.item.referenceId = member(frame.key, token.hash);
        return;
      case Place.Execution:
        this.item.ranOnServer = token.hash == SERVER;
        return;
      case Place.ItemType:
        this.takeItemType(frame, token);
        return;
      case Place.Image:
      case Place.Audio:
      case Place.Video:
      case Place.File:
      case Place.AnswersId:
        frame.give(token.hash, token.bytes == 0);
    }
  }

  private takePartText(frame: Frame, token: Token): void {
    if (this.skipNonce && this.isSystemPart && startsNonce(token.text, token.textBytes)) {
      frame.mark = Mark.NoncePart;
    }
    this.counting.addText(token);
    frame.give(token.hash, token.bytes == 0);
  }

  private takeItemType(frame: Frame, token: Token): void {
    const grammar = this.itemGrammar;
    const mark = grammar.markOfText(Place.ItemType, token.hash, token.text, token.textBytes);
    this.item.type = mark;
    if (mark == Mark.Model) this.counting.extraTokens += CALL_TOKENS;
    if (mark != Mark.Message) frame.give(token.hash, false);
  }

  private takePartType(frame: Frame, hash: u64): void {
    const mark = this.itemGrammar.markOf(Place.PartType, hash);
    frame.mark = mark;
    if (mark == Mark.GeneratedPart) this.counting.extraTokens += CALL_TOKENS;
    if (mark == Mark.GeneratedPart || mark == Mark.ReasoningPart) this.item.generated = true;
    if (mark != Mark.TextPart) frame.give(hash, false);
  }

  /** A conversation that is a mere text: one item of the user. */
  private takeListText(token: Token): void {
    if (token.bytes == 0) return;
    this.counting.addText(token);
    const content = fold(PARTS, member(KEY_TEXT, token.hash));
    const item = member(KEY_ROLE, ROLE_USER) + member(KEY_CONTENT, content);
    this.conversation.addClientItem(mix(item));
  }

  piece(token: Token): void {
    const frame = this.frames.top;
    if (frame.child == Place.Prompt) this.prompt.addPiece(token);
    else if (frame.place == Place.Top || this.isSystemPart) this.head.system.addPiece(token);
    else addLeadingPiece(this.head.leading, this.conversation, this.frames, token);
  }

  passOpening(p: usize, end: usize, token: Token): i32 {
    if (this.frames.top.child != Place.Item) return 0;
    const opening = OPENINGS.find(this.choice.row, p, end);
    if (opening === null) return 0;
    this.frames.push(Container.Object);
    this.frames.top.copyFrom(opening.frame);
    this.item.copyFrom(opening.item);
    this.counting.add(opening.tally);
    token.wantText = opening.wantsText;
    token.wantPieces = opening.isContentNext && mayLead(this.item, this.conversation);
    return opening.size;
  }

  /** Keeps what the beginning of the item at hand came to, which is all of the list so far. */
  keepOpening(address: usize, size: i32, token: Token): void {
    const opening = new Opening(address, size);
    opening.frame.copyFrom(this.frames.top);
    opening.item.copyFrom(this.item);
    opening.tally.copyFrom(this.counting);
    opening.wantsText = token.wantText;
    OPENINGS.add(this.choice.row, opening, address);
  }

  findKnown(p: usize, end: usize): i32 {
    const size = KNOWN_TOOLS.find(p, end);
    if (size != 0) this.head.tools.copyFrom(KNOWN_TOOLS.found);
    return size;
  }

  learnKnown(p: usize, size: i32): void {
    KNOWN_TOOLS.learn(p, size, this.head.tools);
  }

  /** The part at hand belongs to the system text. */
  private get isSystemPart(): bool {
    const frames = this.frames;
    return frames.top.place == Place.Part && frames.parent.place == Place.System;
  }

  /** A long system text is reported in pieces; the first one may be a nonce, which must be seen. */
  private beginSystemText(token: Token): void {
    token.wantPieces = true;
    token.wantText = this.skipNonce && this.head.system.isEmpty;
  }

  private endItem(frame: Frame, endByte: i32): void {
    const item = this.item;
    const conversation = this.conversation;
    item.end(frame.count);
    const value = item.valueOf(frame.sum);
    if (item.type == Mark.ReasoningItem) conversation.forgetText();
    const author = item.author;
    if (author != Mark.System) this.head.leading.forgetOpen();
    if (author == Mark.Model) {
      const generated = item.generated || this.choice.format.countsOpenRun;
      conversation.addModelItem(value, endByte, generated, item.prefill);
    } else if (author == Mark.System && conversation.isLeading) {
      conversation.addHeadItem(this.head.leading.tally);
      this.head.leading.add(value);
    } else {
      conversation.addClientItem(value);
    }
  }

  private endPart(frame: Frame, parent: Frame): void {
    if (frame.mark == Mark.ReasoningPart || frame.mark == Mark.NoncePart) {
      this.counting.copyFrom(frame.before);
      if (parent.place == Place.System) this.head.system.forgetOpen();
      return;
    }
    this.givePart(parent, frame.sum, frame.sum == 0);
  }

  /** A part belongs to a list of parts, to the system text, or stands alone where a list could. */
  private givePart(parent: Frame, value: u64, isEmpty: bool): void {
    if (isEmpty) return;
    if (parent.place == Place.System) return this.head.system.add(value);
    parent.give(parent.isArray ? value : fold(PARTS, value), false);
    addLeadingPart(this.head.leading, this.item, this.conversation, parent);
  }
}
