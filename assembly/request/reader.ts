// SPDX-License-Identifier: Apache-2.0
// Reads a request body as it streams by and says at any time what is known of it.
import { fold } from "../hash/mix";
import { Progress } from "../json/progress";
import { Scanner } from "../json/scanner";
import { NO_FIELD } from "./body-fields";
import { BodySink } from "./body-sink";
import { SOURCE_BODY, SOURCE_CHAIN, SOURCE_HEADER } from "./identity";
import { learnOpenings } from "./learn-openings";
import { PathKind } from "./paths";
import { Place } from "./place";
import { Dialect, Reading, Request } from "./request";

learnOpenings();

/** One per stream, pooled: a few KB, nothing of which grows with the body. */
export class RequestReader {
  /** What came of the body so far. */
  reading: Reading = Reading.Open;

  private readonly sink: BodySink;
  private readonly scanner: Scanner<BodySink>;
  private tenant: u64 = 0;
  private path: PathKind = PathKind.Unknown;

  constructor() {
    const sink = new BodySink();
    this.sink = sink;
    this.scanner = new Scanner<BodySink>(sink);
  }

  /**
   * Makes ready for the body of another request.
   * @param tenant hash of the tenant: seeds every key, so that tenants share nothing
   * @param path what the path says; the body has the last word
   * @param skipBillingNonce leave out the system block that Claude Code changes with every call
   */
  reset(tenant: u64, path: PathKind, skipBillingNonce: bool = true): void {
    this.reading = Reading.Open;
    this.tenant = tenant;
    this.path = path;
    this.sink.reset(tenant, path, skipBillingNonce);
    this.scanner.reset();
  }

  /** Reads one window of the body. See `Scanner.feed` for the scratch that must lie around it. */
  feed(start: usize, size: i32): Progress {
    return this.note(this.scanner.feed(start, size));
  }

  /** No more bytes will come. */
  finish(): Progress {
    const progress = this.note(this.scanner.finish());
    if (progress == Progress.NeedMore) this.reading = Reading.Truncated;
    return progress;
  }

  /** Fills in what is known. Before the end of the body the deepest boundaries so far are already usable. */
  answer(request: Request): void {
    const sink = this.sink;
    const fields = sink.fields;
    const isPrompt = sink.choice.isMade && sink.choice.format.listPlace == Place.Prompt;
    const tally = isPrompt ? sink.prompt.tally : sink.conversation.tally;
    if (isPrompt) sink.prompt.answer(request);
    else sink.answerItems(request, this.reading == Reading.Open);
    sink.head.answer(request, this.tenant);
    request.reading = this.reading;
    request.dialect = this.dialect;
    request.model = fields.modelTag;
    request.unsaltedModel = fields.unsaltedModelTag;
    request.stream = fields.stream;
    request.ambiguous = sink.ambiguous;
    request.promptBytes = request.headBytes + tally.bytes;
    request.promptTokens = request.headTokens + tally.tokens;
    this.answerHistory(request);
    this.answerIdentity(request);
    if (!this.isUsable) request.turn = 0;
  }

  /** Where the server holds the history, the body shows only what is new: the turn is at least one more. */
  private answerHistory(request: Request): void {
    const fields = this.sink.fields;
    request.turnHint = request.identity.turn > 0 ? request.identity.turn : fields.turnHint;
    request.previousResponse = this.scoped(fields.previousResponse);
    request.historyHeld = fields.previousResponse != 0 || fields.conversationHeld;
    if (!request.historyHeld || request.turn == 0) return;
    if (fields.previousResponse != 0) request.turn++;
    request.turn = max(request.turn, request.turnHint);
  }

  /** Headers are believed before fields of the body. */
  private answerIdentity(request: Request): void {
    const fields = this.sink.fields;
    const identity = request.identity;
    if (this.path == PathKind.Compact) identity.isSide = true;
    let own: u64 = 0;
    request.sessionSource = SOURCE_CHAIN;
    if (identity.isTold) {
      own = identity.session;
      request.sessionSource = SOURCE_HEADER + identity.rank;
    } else if (fields.sessionField != NO_FIELD) {
      own = fields.sessionId;
      request.sessionSource = SOURCE_BODY + fields.sessionField;
    }
    request.session = own != 0 ? fold(this.scoped(own), request.model) : 0;
    let program = identity.root != 0 ? identity.root : identity.parent;
    if (program == 0) program = fields.parentId;
    request.program = this.scoped(program != 0 ? program : own);
    request.cohort = this.scoped(fields.cohort);
  }

  /** A key of this tenant alone; nothing stays nothing. */
  private scoped(key: u64): u64 {
    return key != 0 ? fold(this.tenant, key) : 0;
  }

  /** Whether the reading allows for a turn. A broken document has none, whatever it looked like before. */
  private get isUsable(): bool {
    return this.reading == Reading.Conversation || this.reading == Reading.Open;
  }

  private note(progress: Progress): Progress {
    if (progress == Progress.Malformed) this.reading = Reading.Malformed;
    if (progress == Progress.Done) this.reading = this.documentReading;
    return progress;
  }

  private get documentReading(): Reading {
    if (this.sink.conversation.items > 0) return Reading.Conversation;
    return this.sink.prompt.isSingle ? Reading.Prompt : Reading.NotConversation;
  }

  private get dialect(): Dialect {
    const sink = this.sink;
    if (!sink.choice.isMade) return Dialect.None;
    const dialect = sink.choice.format.dialect;
    return dialect == Dialect.Chat && sink.hasSystemKey ? Dialect.Messages : dialect;
  }
}
