// SPDX-License-Identifier: Apache-2.0
// What is known of a body while it is read, and what its own keys begin.
import { hashName } from "../hash/text";
import { Sink, Token } from "../json/sink";
import { BodyFields } from "./body-fields";
import { BODY } from "./body-keys";
import { Conversation } from "./conversation";
import { Frame } from "./frame";
import { FrameStack } from "./frame-stack";
import { Grammar } from "./grammar";
import { Head } from "./head";
import { Item } from "./item";
import { ListChoice } from "./list-choice";
import { PathKind } from "./paths";
import { Place } from "./place";
import { isSingular } from "./place-rules";
import { Prompt } from "./prompt";
import { Request } from "./request";
import { Tally } from "./tally";
import { ITEM_TOKENS } from "./token-costs";

const KEY_SYSTEM = hashName("system");

export abstract class BodyState extends Sink {
  readonly conversation: Conversation = new Conversation();
  readonly prompt: Prompt = new Prompt();
  readonly head: Head = new Head();
  readonly fields: BodyFields = new BodyFields();
  readonly choice: ListChoice = new ListChoice();
  /** A key that counts came twice: the last value stands, and nothing may be stored. */
  ambiguous: bool = false;
  /** The body has `system` beside its items, as only Messages has it. */
  hasSystemKey: bool = false;

  protected readonly frames: FrameStack = new FrameStack();
  protected tenant: u64 = 0;
  protected skipNonce: bool = false;
  /** Where the text at hand is counted. */
  protected counting: Tally = new Tally();
  protected readonly uncounted: Tally = new Tally();
  protected readonly item: Item = new Item();
  /** Of the chosen format. */
  protected itemGrammar: Grammar = BODY;

  reset(tenant: u64, path: PathKind, skipNonce: bool): void {
    this.tenant = tenant;
    this.skipNonce = skipNonce;
    this.choice.begin(path);
    this.itemGrammar = this.choice.format.grammar;
    this.conversation.begin(tenant);
    this.prompt.begin(tenant);
    this.head.clear();
    this.fields.clear();
    this.ambiguous = this.hasSystemKey = false;
    this.counting = this.uncounted;
    this.item.isOpen = false;
    this.frames.clear();
  }

  /** Fills in what the items say; `goesOn`: the open item counts as far as it is known. */
  answerItems(request: Request, goesOn: bool): void {
    const continues = this.fields.continuesFinal;
    this.conversation.answer(request, continues, goesOn && this.item.isOpenClients);
  }

  /** A key of the body: says where its text counts, and starts what came twice anew. */
  protected beginField(frame: Frame, child: Place, token: Token): void {
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
    this.counting.extraTokens += ITEM_TOKENS;
    if (isSingular(child)) this.noteTwice(frame, child);
  }

  protected beginList(frame: Frame, key: u64): void {
    if (!this.choice.takes(key)) {
      frame.child = Place.Ignored;
      return;
    }
    this.itemGrammar = this.choice.format.grammar;
    this.ambiguous = this.ambiguous || this.choice.isRepeated;
    this.conversation.begin(this.tenant);
    this.prompt.begin(this.tenant);
    this.head.leading.clear();
    this.counting = this.conversation.tally;
    frame.child = this.choice.format.listPlace;
  }

  // @ts-ignore: decorator
  @inline
  protected noteTwice(frame: Frame, place: Place): void {
    const bit: u64 = (<u64>1) << (<u64>place);
    if ((frame.seen & bit) != 0) this.ambiguous = true;
    frame.seen |= bit;
  }

  // @ts-ignore: decorator
  @inline
  protected grammarOf(place: Place): Grammar {
    return place < Place.Item ? BODY : this.itemGrammar;
  }
}
