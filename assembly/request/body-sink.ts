// SPDX-License-Identifier: Apache-2.0
// Gives meaning to the tokens of a request body: each has a place, and each place does one thing with it.
import { fold, member, mix } from "../hash/mix";
import { hashName } from "../hash/text";
import { Container, Literal, Sink, Token } from "../json/sink";
import { BODY } from "./body-keys";
import { BodyFields } from "./body-fields";
import { Conversation } from "./conversation";
import { Format } from "./dialects/format";
import { findFormat, formatAt, NO_FORMAT, outranks } from "./dialects/table";
import { Frame, PARTS } from "./frame";
import { Grammar } from "./grammar";
import { Head } from "./head";
import { startsNonce } from "./billing-nonce";
import { PathKind } from "./paths";
import { Mark, Place } from "./place";
import { Prompt } from "./prompt";
import { Tally } from "./tally";

/** Levels with a frame of their own; what lies deeper is hashed as one row of tokens. */
const MAX_FRAMES: i32 = 64;

/** Tokens of a picture, clip or file, whatever its bytes: a typical one of the open models. */
const IMAGE_TOKENS: u32 = 1_000;
const AUDIO_TOKENS: u32 = 500;
const VIDEO_TOKENS: u32 = 4_000;
const FILE_TOKENS: u32 = 2_000;

/** Markers and names around a tool call. */
const CALL_TOKENS: u32 = 10;
/** Quotes, colon and comma around a member of printed JSON. */
const PRINTED_MEMBER_TOKENS: u32 = 3;

const KEY_ROLE = hashName("role");
const KEY_CONTENT = hashName("content");
const KEY_TEXT = hashName("text");
const KEY_SYSTEM = hashName("system");
const ROLE_USER = hashName("user");
const SERVER = hashName("server");
/** Ends of containers in the row of a part that is too deep. */
const DEEP_END: u64 = 0x7137449123ef65cd;

export class BodySink extends Sink {
  readonly conversation: Conversation = new Conversation();
  readonly prompt: Prompt = new Prompt();
  readonly head: Head = new Head();
  readonly fields: BodyFields = new BodyFields();
  /** Row of the format whose conversation was read, or NO_FORMAT. */
  row: i32 = NO_FORMAT;
  /** A key that counts came twice: the last value stands, and nothing may be stored. */
  ambiguous: bool = false;
  /** The body has `system` beside its items, as only Messages has it. */
  hasSystemKey: bool = false;

  private readonly frames: StaticArray<Frame> = newFrames();
  private frame: Frame = new Frame();
  private depth: i32 = 0;
  /** Levels below the deepest frame. */
  private excess: i32 = 0;
  private tenant: u64 = 0;
  private skipNonce: bool = false;
  private path: PathKind = PathKind.Unknown;
  private format: Format = formatAt(0);
  /** Where the text at hand is counted. */
  private counting: Tally = new Tally();
  private readonly uncounted: Tally = new Tally();

  // The item at hand.
  private role: Mark = Mark.None;
  private type: Mark = Mark.None;
  private generated: bool = false;
  private prefill: bool = false;
  private ownId: u64 = 0;
  private sealed: u64 = 0;
  private referenceId: u64 = 0;
  private ranOnServer: bool = false;

  reset(tenant: u64, path: PathKind, skipNonce: bool): void {
    this.tenant = tenant;
    this.skipNonce = skipNonce;
    this.path = path;
    this.conversation.begin(tenant);
    this.prompt.begin(tenant);
    this.head.clear();
    this.fields.clear();
    this.row = NO_FORMAT;
    this.ambiguous = this.hasSystemKey = false;
    this.format = formatAt(0);
    this.depth = this.excess = 0;
    this.counting = this.uncounted;
    // The frame around the body: its only value stands at Top if it is an object.
    this.frame = this.frames[0];
    this.frame.open(Place.Ignored, true, Place.Top);
  }

  begin(kind: Container, token: Token): void {
    if (this.excess > 0 || this.depth + 1 == MAX_FRAMES) {
      this.excess++;
      this.frame.sum = fold(this.frame.sum, kind);
      return;
    }
    const isArray = kind == Container.Array;
    const place = this.placeOf(this.frame.child, isArray);
    const child = isArray ? this.grammarOf(place).elementOf(place) : Place.Ignored;
    this.depth++;
    const frame = unchecked(this.frames[this.depth]);
    this.frame = frame;
    frame.open(place, isArray, child);
    if (place == Place.Item) this.beginItem();
    else if (place == Place.Call) this.counting.extraTokens += CALL_TOKENS;
    else if (place == Place.Part) frame.before.copyFrom(this.counting);
    else if (place == Place.Prompt && !isArray) this.prompt.isBatch = true;
    else if (place == Place.PromptToken) this.prompt.isBatch = true;
  }

  end(kind: Container, token: Token): void {
    if (this.excess > 0) {
      this.excess--;
      this.frame.sum = fold(this.frame.sum, DEEP_END);
      return;
    }
    const frame = this.frame;
    this.depth--;
    const parent = unchecked(this.frames[this.depth]);
    this.frame = parent;
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
        this.generated = this.generated || frame.count > 0;
        return;
      case Place.HeadExtra:
        if (frame.count > 0) this.head.addExtra(member(parent.key, frame.value));
        return;
      case Place.Calls:
      case Place.Function:
      case Place.Generated:
        this.generated = this.generated || frame.count > 0;
        break;
    }
    parent.give(frame.value, frame.count == 0);
  }

  key(token: Token): void {
    const frame = this.frame;
    if (this.excess > 0) {
      frame.sum = fold(frame.sum, token.hash);
      return;
    }
    frame.key = token.hash;
    if (frame.isUniform) {
      if (frame.isOrdered) this.countPrintedKey(token);
      frame.child = frame.place;
      return;
    }
    const child = this.grammarOf(frame.place).childOf(frame.place, token.hash);
    frame.child = child;
    if (frame.place == Place.Top) this.beginField(frame, child, token);
    else this.noteTwice(frame, child);
    if (isKept(child)) token.wantText = true;
    else if (isPieced(child)) token.wantPieces = true;
    else if (child == Place.Text && this.isSystemPart) this.beginSystemText(token);
    else this.countMedia(child);
  }

  text(token: Token): void {
    const frame = this.frame;
    if (this.excess > 0) {
      frame.sum = fold(frame.sum, token.hash);
      return;
    }
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
        this.generated = this.generated || token.bytes > 0;
        frame.give(token.hash, token.bytes == 0);
        return;
      case Place.Reasoning:
        this.generated = this.generated || token.bytes > 0;
        frame.count++;
        return;
      case Place.Role:
        this.role = this.format.grammar.markOf(Place.Role, token.hash);
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
    const place = this.frame.child;
    if (place == Place.TurnHint) this.fields.takeTurn(token.value);
    else if (place == Place.PromptToken) this.prompt.addId(token.hash);
    this.takeScalar(token.hash, false);
  }

  literal(token: Token): void {
    const frame = this.frame;
    const isTrue = token.literal == Literal.True;
    if (this.excess == 0) {
      if (frame.child == Place.ItemPrefill) {
        this.prefill = isTrue;
        return;
      }
      if (frame.place == Place.Top) this.fields.takeFlag(frame.child, isTrue);
    }
    this.takeScalar(token.hash, token.literal == Literal.Null);
  }

  private takeScalar(hash: u64, isEmpty: bool): void {
    const frame = this.frame;
    if (this.excess > 0) {
      frame.sum = fold(frame.sum, hash);
      return;
    }
    const place = frame.child;
    if (place == Place.HeadExtra && !isEmpty) this.head.addExtra(member(frame.key, hash));
    else if (place == Place.Value || place == Place.Ordered) frame.give(hash, isEmpty);
  }

  /** Rare places of a text. */
  private takeOther(frame: Frame, place: Place, token: Token): void {
    if (place < Place.Item || place >= Place.Session) {
      this.fields.takeText(place, token);
      return;
    }
    switch (place) {
      case Place.OwnId:
        this.ownId = member(frame.key, token.hash);
        return;
      case Place.Sealed:
        this.sealed = member(frame.key, token.hash);
        return;
      case Place.ReferenceId:
        this.referenceId = member(frame.key, token.hash);
        return;
      case Place.Execution:
        this.ranOnServer = token.hash == SERVER;
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
    const grammar = this.format.grammar;
    const mark = grammar.markOfText(Place.ItemType, token.hash, token.text, token.textBytes);
    this.type = mark;
    if (mark == Mark.Model) this.counting.extraTokens += CALL_TOKENS;
    if (mark != Mark.Message) frame.give(token.hash, false);
  }

  private takePartType(frame: Frame, hash: u64): void {
    const mark = this.format.grammar.markOf(Place.PartType, hash);
    frame.mark = mark;
    if (mark == Mark.GeneratedPart) this.counting.extraTokens += CALL_TOKENS;
    if (mark == Mark.GeneratedPart || mark == Mark.ReasoningPart) this.generated = true;
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
    if (this.frame.child == Place.Prompt) this.prompt.addPiece(token);
    else this.head.system.addPiece(token);
  }

  /** The part at hand belongs to the system text. */
  private get isSystemPart(): bool {
    return this.frame.place == Place.Part && this.frames[this.depth - 1].place == Place.System;
  }

  /** A long system text is reported in pieces; the first one may be a nonce, which must be seen. */
  private beginSystemText(token: Token): void {
    token.wantPieces = true;
    token.wantText = this.skipNonce && this.head.system.isEmpty;
  }

  private beginItem(): void {
    this.role = this.type = Mark.None;
    this.generated = this.prefill = false;
    this.ownId = this.sealed = this.referenceId = 0;
    this.ranOnServer = false;
  }

  private endItem(frame: Frame, endByte: i32): void {
    const conversation = this.conversation;
    const author = this.author();
    let sum = frame.sum;
    if (this.type == Mark.ReasoningItem) {
      conversation.forgetText();
      sum = 0;
    }
    if (author != Mark.Model) sum += this.ownId;
    if (this.type == Mark.CompactionItem) sum += this.sealed;
    if (this.type == Mark.ReferenceItem) sum += this.referenceId;
    const value = sum != 0 ? mix(sum) : 0;
    if (author == Mark.Model) {
      const generated = this.generated || this.format.countsOpenRun;
      conversation.addModelItem(value, endByte, generated, this.prefill);
      return;
    }
    if (author == Mark.System && conversation.isLeading) {
      conversation.addHeadItem(this.head.leading.tally);
      this.head.leading.add(value);
      return;
    }
    conversation.addClientItem(value);
  }

  /** Who wrote the item at hand: its type says so, or for messages its role. */
  private author(): Mark {
    switch (this.type) {
      case Mark.Model:
      case Mark.Client:
        return this.type;
      case Mark.ReasoningItem:
      case Mark.CompactionItem:
      case Mark.ReferenceItem:
        return Mark.Model;
      case Mark.SearchOutput:
        return this.ranOnServer ? Mark.Model : Mark.Client;
      case Mark.None:
        // An id and nothing else is a reference to an item that the server holds.
        if (
          this.role != Mark.None ||
          this.referenceId == 0 ||
          this.frames[this.depth + 1].count > 0
        )
          break;
        this.type = Mark.ReferenceItem;
        return Mark.Model;
    }
    return this.role;
  }

  private endPart(frame: Frame, parent: Frame): void {
    if (frame.mark == Mark.ReasoningPart || frame.mark == Mark.NoncePart) {
      this.counting.copyFrom(frame.before);
      return;
    }
    this.givePart(parent, frame.sum, frame.sum == 0);
  }

  /** A part belongs to a list of parts, to the system text, or stands alone where a list could. */
  private givePart(parent: Frame, value: u64, isEmpty: bool): void {
    if (isEmpty) return;
    if (parent.place == Place.System) this.head.system.add(value);
    else parent.give(parent.isArray ? value : fold(PARTS, value), false);
  }

  /** A key of the body: says where its text counts, and starts what came twice anew. */
  private beginField(frame: Frame, child: Place, token: Token): void {
    this.counting = this.uncounted;
    switch (child) {
      case Place.Items:
        this.beginList(frame, token.hash);
        return;
      case Place.Tools:
        this.head.tools.clear();
        this.counting = this.head.tools.tally;
        break;
      case Place.System:
        this.head.system.clear();
        this.counting = this.head.system.tally;
        this.hasSystemKey = this.hasSystemKey || frame.key == KEY_SYSTEM;
        break;
      case Place.Ignored:
        return;
    }
    this.noteTwice(frame, child);
  }

  /** The key of a conversation. Of two, the one that the path speaks of counts, else the one with the higher rank. */
  private beginList(frame: Frame, key: u64): void {
    const row = findFormat(key, this.path);
    const isFirst = this.row == NO_FORMAT;
    if (row == NO_FORMAT || (!isFirst && row != this.row && !outranks(row, this.row, this.path))) {
      frame.child = Place.Ignored;
      return;
    }
    if (row == this.row) this.ambiguous = true;
    this.row = row;
    this.format = formatAt(row);
    this.conversation.begin(this.tenant);
    this.prompt.begin(this.tenant);
    this.head.leading.clear();
    this.counting = this.conversation.tally;
    frame.child = this.format.listPlace;
  }

  private noteTwice(frame: Frame, place: Place): void {
    if (!isSingular(place)) return;
    const bit: u64 = (<u64>1) << (<u64>place);
    if ((frame.seen & bit) != 0) this.ambiguous = true;
    frame.seen |= bit;
  }

  /** Keys of printed JSON are text, too. */
  private countPrintedKey(token: Token): void {
    this.counting.addText(token);
    this.counting.extraTokens += PRINTED_MEMBER_TOKENS;
  }

  private countMedia(place: Place): void {
    switch (place) {
      case Place.Image:
        this.counting.extraTokens += IMAGE_TOKENS;
        break;
      case Place.Audio:
        this.counting.extraTokens += AUDIO_TOKENS;
        break;
      case Place.Video:
        this.counting.extraTokens += VIDEO_TOKENS;
        break;
      case Place.File:
        this.counting.extraTokens += FILE_TOKENS;
        break;
    }
  }

  /** The place of a container: some places take only one kind, or mean something else as the other. */
  private placeOf(place: Place, isArray: bool): Place {
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
        return isArray ? place : Place.Part;
      case Place.Part:
        return isArray ? Place.Value : place;
      case Place.System:
        return isArray ? place : Place.Part;
      case Place.Function:
        return isArray ? Place.Value : place;
      case Place.Text:
      case Place.Refusal:
        return Place.Value;
      default:
        return place;
    }
  }

  // @ts-ignore: decorator
  @inline
  private grammarOf(place: Place): Grammar {
    return place < Place.Item ? BODY : this.format.grammar;
  }
}

function newFrames(): StaticArray<Frame> {
  const frames = new StaticArray<Frame>(MAX_FRAMES);
  for (let i = 0; i < MAX_FRAMES; i++) frames[i] = new Frame();
  return frames;
}

/** Places whose text itself is read, not only its hash. */
function isKept(place: Place): bool {
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
function isPieced(place: Place): bool {
  return place == Place.System || place == Place.Prompt;
}

/** Places that one key leads to, so that a second value is a second key of the same name. */
function isSingular(place: Place): bool {
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
