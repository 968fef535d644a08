// SPDX-License-Identifier: Apache-2.0
// Reads the body of one answer, an event stream or a JSON document, into an Outcome.
import { Dialect } from "../request/request";
import { AnswerKind } from "./answer-kind";
import { AnswerScanner, AnswerScanners } from "./answer-scanner";
import { EventStream } from "./event-stream";
import { Outcome } from "./outcome";

/**
 * One per stream, reused: `reset`, `feed` each chunk, `finish`, read `outcome` at any time. Nothing of a chunk is
 * kept and nothing is allocated for one; all streams share one stock of scanners.
 */
export class AnswerReader {
  readonly outcome: Outcome = new Outcome();
  private kind: AnswerKind = AnswerKind.Unknown;
  private readonly events: EventStream;
  private document: AnswerScanner | null = null;

  constructor(private readonly scanners: AnswerScanners) {
    this.events = new EventStream(scanners);
  }

  /** Makes ready for another answer. `dialect` is that of the request; a wrong one costs time, not truth. */
  reset(dialect: Dialect, kind: AnswerKind): void {
    this.finish();
    this.outcome.reset();
    this.outcome.opaque = kind == AnswerKind.Unknown;
    this.kind = kind;
    const named = dialect == Dialect.Messages || dialect == Dialect.Responses;
    this.events.reset(this.outcome, named);
  }

  /** Whether more bytes can still tell something. */
  get wantsMore(): bool {
    return this.kind != AnswerKind.Unknown && !this.outcome.complete;
  }

  /** Takes the next bytes of the body. */
  feed(start: usize, size: i32): void {
    if (size <= 0) return;
    this.outcome.firstByte = true;
    if (this.kind == AnswerKind.EventStream) this.events.feed(start, size);
    else if (this.kind == AnswerKind.Json) this.openDocument().feed(start, size);
  }

  /** No more bytes will come, at the end or because the stream was cut. May be called again. */
  finish(): void {
    this.events.finish();
    const document = this.document;
    if (document == null) return;
    this.document = null;
    if (document.end()) this.outcome.complete = true;
    this.scanners.give(document);
  }

  private openDocument(): AnswerScanner {
    let document = this.document;
    if (document == null) {
      document = this.scanners.take();
      document.begin(this.outcome);
      this.document = document;
    }
    return document;
  }
}
