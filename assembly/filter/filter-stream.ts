// SPDX-License-Identifier: Apache-2.0
// One HTTP exchange: reads the request as it streams by, has it decided, and learns from who served it.
import { readBuffer } from "../host/bodies";
import { Action, BufferType, HeaderMapType } from "../host/status";
import { continueRequest, NS_PER_MS, selectContext } from "../host/streams";
import { HostText } from "../host/text";
import { Progress } from "../json/progress";
import { Outcome } from "../metrics/outcome";
import { Counter } from "../metrics/meters";
import { Reason } from "../metrics/reason";
import { RequestReader } from "../request/reader";
import { answerFromHeaders, isTold } from "../request/told";
import { Dialect, Reading } from "../request/request";
import { AnswerKind } from "../response/answer-kind";
import { Verdict } from "../scheduling/admission/admission";
import { refuseRequest } from "./refusal";
import { AnswerReader } from "../response/answer-reader";
import { propertyAddress, propertyPath, propertySize, readProperty } from "../host/properties";
import { FilterRoot } from "./filter-root";
import { UNKNOWN_LENGTH } from "./request-head";
import { Router } from "./router";
import { writeRecord } from "./record";
import { Turnaround } from "./turnaround";

/**
 * Bytes that come this soon after a release were waiting in Envoy, not in the client: those that it had read come in
 * the same dispatch, the others once a connection to the endpoint has taken what was held.
 */
const WAITING_MS: u64 = 10;

const PROTOCOL = propertyPath("request.protocol");
const HTTP1 = new HostText("HTTP/1");

/** Below this, a stuck request is a slow client's doing, not a buffer limit's. */
const STUCK_BYTES: u32 = 30 * 1024;

enum Protocol {
  Unasked = 0,
  Http1 = 1,
  Later = 2,
}

/**
 * Callbacks are ladders of early returns. Life of a stream: `onRequestHeaders` starts the scan and holds the
 * headers; body callbacks feed it; the end of the document, the cap or the watchdog decides and lets it go; the
 * response tells who served it; `onLog` closes the books exactly once, however the stream ended.
 */
@final
export class FilterStream {
  contextId: u32 = 0;
  /** What is decided and learned about this request. */
  readonly turnaround: Turnaround = new Turnaround();

  // The list of held streams (held-streams.ts).
  listed: bool = false;
  earlierHeld: FilterStream | null = null;
  laterHeld: FilterStream | null = null;
  /** When the last byte of the body came, ms. */
  lastByteMs: u64 = 0;

  private reader: RequestReader | null = null;
  private readonly answer: AnswerReader;
  private started: bool = false;
  private decided: bool = false;
  /** The first byte of the answer has come. */
  private answering: bool = false;
  /** Admission holds the request back. */
  private waiting: bool = false;
  /** Answered with 429. */
  private refused: bool = false;
  private outcome: Outcome = Outcome.Passed;
  private contentLength: i64 = UNKNOWN_LENGTH;
  private seenBytes: u32 = 0;
  /** When the watchdog let the stream go, 0 = it did not. */
  private stalledMs: u64 = 0;
  /** Held for more than the learned cap, to see whether that is still true. */
  private triesCap: bool = false;
  private protocol: Protocol = Protocol.Unasked;

  constructor(
    readonly root: FilterRoot,
    private readonly router: Router,
  ) {
    this.answer = new AnswerReader(router.scanners);
  }

  open(contextId: u32): void {
    this.contextId = contextId;
    this.started = false;
    this.decided = false;
    this.answering = false;
    this.waiting = false;
    this.refused = false;
    this.outcome = Outcome.Passed;
    this.contentLength = UNKNOWN_LENGTH;
    this.seenBytes = 0;
    this.stalledMs = 0;
    this.triesCap = false;
    this.protocol = Protocol.Unasked;
    this.answer.reset(Dialect.None, AnswerKind.Unknown);
    this.turnaround.reset();
  }

  onRequestHeaders(ended: bool): Action {
    const root = this.root;
    this.started = true;
    this.outcome = root.readHead(this.turnaround, ended);
    if (this.outcome != Outcome.Conversation) return Action.Continue;
    if (ended) {
      this.outcome = Outcome.NoBody;
      return Action.Continue;
    }
    if (root.trustsHeaders && isTold(this.turnaround.request)) {
      this.decideTold();
      return Action.Continue;
    }
    this.contentLength = root.head.contentLength;
    this.reader = root.takeReader(this.turnaround);
    if (!root.holds && !root.triesHold()) return Action.Continue;
    this.lastByteMs = root.holdBeginMs();
    root.held.touch(this);
    return Action.StopIteration;
  }

  onRequestBody(size: u32, ended: bool): Action {
    const reader = this.reader;
    if (this.refused) return Action.StopIterationAndWatermark;
    if (this.listed && size > 0) this.root.limits.noteDelivered();
    if (this.stalledMs != 0) this.judgeStall(size);
    this.seenBytes += size;
    if (this.waiting) this.growHeld();
    if (reader === null) return this.waiting ? Action.StopIterationAndWatermark : Action.Continue;
    const progress = this.feed(reader, size);
    const whole = ended || <i64>this.seenBytes == this.contentLength;
    if (whole && this.triesCap && this.listed) {
      this.root.limits.noteWhole(this.isHttp1, this.seenBytes);
    }
    if (progress == Progress.Malformed || whole) return this.endScan(reader);
    if (this.decided) return this.waiting ? Action.StopIterationAndWatermark : Action.Continue;
    if (!this.listed) return Action.Continue; // Read as it streams by.
    if (this.seenBytes >= this.root.limits.watchBytes && !this.mayHold()) {
      return this.decide(reader, Outcome.OverCap);
    }
    if (size > 0) {
      this.lastByteMs = this.root.nowMs();
      this.root.held.touch(this);
    }
    return Action.StopIterationAndWatermark;
  }

  /** With trailers the body callbacks never say that the stream ended. */
  onRequestTrailers(): Action {
    this.root.stripTrailers(HeaderMapType.RequestTrailers);
    const reader = this.reader;
    if (reader !== null) this.endScan(reader);
    return this.waiting || this.refused ? Action.StopIteration : Action.Continue;
  }

  onResponseHeaders(ended: bool): void {
    if (!this.started) return;
    const nowMs = this.root.recentMs;
    const kind = this.root.readAnswerHead(this.turnaround, this.decided, nowMs);
    if (!this.decided) return;
    if (this.reader === null) this.router.learn(this.turnaround, nowMs);
    this.answer.reset(this.turnaround.request.dialect, kind);
    if (ended) this.router.noteFirstByte(this.turnaround);
  }

  onResponseBody(size: u32, _ended: bool): void {
    if (!this.decided || size == 0) return;
    if (!this.answering) {
      this.answering = true;
      this.answer.outcome.firstByte = true;
      this.router.noteFirstByte(this.turnaround);
    }
    if (this.answer.wantsMore) this.feedAnswer(size);
  }

  onResponseTrailers(): void {
    if (this.started) this.root.stripTrailers(HeaderMapType.ResponseTrailers);
  }

  /** The last thing that happens to every stream: books are closed here, once. */
  onLog(): void {
    if (!this.started) return; // Refused by Envoy before any filter saw it.
    this.started = false;
    if (this.reader !== null && !this.decided) this.outcome = Outcome.Aborted;
    this.dropReader();
    this.waiting = false;
    if (this.decided) this.closeBooks();
    if (this.root.records) this.writeRecord();
    this.root.meters.countOutcome(this.outcome);
    if (this.turnaround.decision.reason == Reason.None) this.root.meters.countReason(Reason.None);
    // Its end may have made room. Last of all: whoever is let go is the stream that calls speak of from here on.
    if (this.decided) this.root.letGo(this.turnaround, this.root.recentMs);
  }

  private writeRecord(): void {
    const root = this.root;
    const answer = this.answer.outcome;
    writeRecord(this.turnaround, this.outcome, answer, root.rules, root.seed, root.nowNs());
  }

  private closeBooks(): void {
    // The end matters for what was streamed and for programs; otherwise it is as good as the last tick.
    const isTimed = this.turnaround.firstTokenNs != 0 || this.router.needsEnd;
    const timeNs = isTimed ? this.root.nowNs() : this.root.recentMs * NS_PER_MS;
    const nowMs = this.root.recentMs;
    this.answer.finish();
    this.router.learn(this.turnaround, nowMs); // The answer may have begun before the request ended.
    this.router.teach(this.turnaround, this.answer.outcome, timeNs, nowMs);
    this.router.finish(this.turnaround, this.answer.outcome, nowMs);
  }

  /** Called when the host forgets the stream; a stream without a log callback is closed here. */
  close(): void {
    this.onLog();
  }

  /**
   * The watchdog's release: no new byte for `hold_stall_ms`. The rest of the body streams on and is still read, so
   * that the next turn of the session is recognised.
   */
  releaseStalled(nowMs: u64): void {
    const reader = this.reader;
    this.stalledMs = nowMs;
    this.root.held.remove(this);
    if (!selectContext(this.contextId)) return;
    if (reader !== null && !this.decided) this.decide(reader, Outcome.Stalled);
    if (!this.waiting && !this.refused) continueRequest();
  }

  /** Admission has room for this request now. */
  goOn(nowMs: u64): void {
    if (!this.waiting) return;
    this.waiting = false;
    const turnaround = this.turnaround;
    const admitter = turnaround.admitter;
    if (admitter !== null) admitter.leave(turnaround);
    const here = this.root.deciding === this; // It found room as it came: its own callback lets it go.
    if (!here && !selectContext(this.contextId)) return;
    if (!here) this.root.meters.sampleHold(nowMs - turnaround.call.heldMs);
    turnaround.sentNs = this.root.nowNs();
    this.router.decideAdmitted(turnaround, !here, nowMs);
    if (!here) continueRequest();
  }

  /** Copies the chunk through the window into the scanner. */
  private feed(reader: RequestReader, size: u32): Progress {
    const window = this.root.window;
    let progress = Progress.NeedMore;
    let start: u32 = 0;
    while (start < size && progress != Progress.Malformed) {
      const count = readBuffer(window, BufferType.RequestBody, start, size - start);
      if (count == 0) break;
      progress = reader.feed(window.address, <i32>count);
      start += count;
    }
    return progress;
  }

  /** Copies a chunk of the answer through the window; a callback per network read, so it is kept small. */
  private feedAnswer(size: u32): void {
    const window = this.root.window;
    const answer = this.answer;
    let start: u32 = 0;
    while (start < size && answer.wantsMore) {
      const count = readBuffer(window, BufferType.ResponseBody, start, size - start);
      if (count == 0) break;
      answer.feed(window.address, <i32>count);
      start += count;
    }
    const turnaround = this.turnaround;
    if (turnaround.firstTokenNs == 0 && answer.outcome.firstToken) {
      turnaround.firstTokenNs = this.root.nowNs();
    }
  }

  private endScan(reader: RequestReader): Action {
    reader.finish();
    let action = this.waiting ? Action.StopIterationAndWatermark : Action.Continue;
    if (!this.decided) action = this.decide(reader, outcomeOf(reader.reading));
    else reader.answer(this.turnaround.request);
    this.dropReader();
    return action;
  }

  /** Session and turn were told by a client that the operator trusts: the body is not looked at. */
  private decideTold(): void {
    const turnaround = this.turnaround;
    answerFromHeaders(turnaround.request, turnaround.tenant);
    this.decided = true;
    this.outcome = Outcome.Hinted;
    turnaround.sentNs = this.root.nowNs();
    this.router.decide(turnaround, this.contextId, 0, false, this.root.recentMs);
  }

  /** Has the request decided. It goes on, or waits for admission, or has been refused. */
  private decide(reader: RequestReader, outcome: Outcome): Action {
    const root = this.root;
    const mayHold = this.listed;
    this.decided = true;
    this.outcome = outcome;
    root.held.remove(this);
    reader.answer(this.turnaround.request);
    this.turnaround.sentNs = root.nowNs();
    const nowMs = root.recentMs;
    const bytes = this.bodyBytes;
    const verdict = this.router.decide(this.turnaround, this.contextId, bytes, mayHold, nowMs);
    if (verdict == Verdict.Pass) return Action.Continue;
    if (verdict == Verdict.Hold) this.wait(nowMs);
    else this.refuse();
    return this.waiting || this.refused ? Action.StopIterationAndWatermark : Action.Continue;
  }

  private wait(nowMs: u64): void {
    const root = this.root;
    this.waiting = true;
    root.deciding = this;
    root.letGo(this.turnaround, nowMs); // There may be room.
    root.deciding = null;
    if (!this.waiting) return;
    root.meters.count(Counter.AdmissionHeld);
  }

  private refuse(): void {
    this.refused = true;
    this.outcome = Outcome.Refused;
    refuseRequest();
  }

  /** What the body comes to, as far as one can know. */
  private get bodyBytes(): u32 {
    const told = this.contentLength;
    return told > <i64>this.seenBytes ? <u32>min(told, <i64>u32.MAX_VALUE) : this.seenBytes;
  }

  /** More bytes of a waiting request lie in Envoy's buffers. */
  private growHeld(): void {
    const admitter = this.turnaround.admitter;
    if (admitter !== null) admitter.grow(this.turnaround, this.seenBytes);
  }

  /** Whether the cap, the given or the learned one, lets the request be held for more bytes. */
  private mayHold(): bool {
    const limits = this.root.limits;
    if (this.seenBytes >= limits.configuredCapBytes) return false;
    const isHttp1 = this.isHttp1;
    if (limits.mayHold(isHttp1, this.seenBytes, this.triesCap)) return true;
    this.triesCap = limits.claimCap(isHttp1, this.root.recentMs);
    return this.triesCap;
  }

  /** After a stall: were the bytes waiting in Envoy? Then the listener holds less than the filter believed. */
  private judgeStall(size: u32): void {
    const root = this.root;
    const nowMs = root.nowMs();
    const isSoon = nowMs >= this.stalledMs && nowMs - this.stalledMs <= WAITING_MS;
    this.stalledMs = 0;
    if (size == 0 || !isSoon) return;
    const limits = root.limits;
    if (this.seenBytes >= STUCK_BYTES) {
      const isFound = limits.noteStuck(this.isHttp1, this.seenBytes, this.lastByteMs, nowMs);
      if (isFound) root.meters.count(Counter.CapLowered);
    } else if (this.seenBytes == 0 && limits.noteUndelivered(this.lastByteMs, nowMs)) {
      root.meters.count(Counter.HoldUnsupported);
    }
  }

  /** Envoy is asked once a stream, and only where a limit is suspected or known. */
  private get isHttp1(): bool {
    if (this.protocol == Protocol.Unasked) {
      const isHttp1 = readProperty(PROTOCOL) && HTTP1.begins(propertyAddress(), propertySize());
      this.protocol = isHttp1 ? Protocol.Http1 : Protocol.Later;
    }
    return this.protocol == Protocol.Http1;
  }

  private dropReader(): void {
    const reader = this.reader;
    if (reader !== null) this.root.giveReader(reader);
    this.reader = null;
    this.root.held.remove(this);
  }
}

function outcomeOf(reading: Reading): Outcome {
  switch (reading) {
    case Reading.Conversation:
      return Outcome.Conversation;
    case Reading.Prompt:
      return Outcome.Prompt;
    case Reading.NotConversation:
      return Outcome.NotConversation;
    case Reading.Malformed:
      return Outcome.Malformed;
    default:
      return Outcome.Truncated;
  }
}
