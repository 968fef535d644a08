// SPDX-License-Identifier: Apache-2.0
// Scans JSON documents of answers into an Outcome, and the stock of such scanners that all streams share.
import { Progress } from "../json/progress";
import { Scanner, WINDOW_SLACK_BYTES } from "../json/scanner";
import { AnswerSink } from "./answer-sink";
import { Outcome } from "./outcome";

/** Bytes that are scanned at a time: copied, because a scanner writes around its window. */
const PIECE_BYTES: i32 = 4096;
const PIECE: usize = memory.data(2 * WINDOW_SLACK_BYTES + PIECE_BYTES, 16);

/** One document at a time: `begin`, `feed` its bytes in any pieces, `end`. */
export class AnswerScanner {
  /** The next one in the stock. */
  next: AnswerScanner | null = null;
  private readonly sink: AnswerSink;
  private readonly scanner: Scanner<AnswerSink>;

  constructor() {
    const sink = new AnswerSink();
    this.sink = sink;
    this.scanner = new Scanner<AnswerSink>(sink);
  }

  begin(outcome: Outcome): void {
    this.sink.outcome = outcome;
    this.sink.reset();
    this.scanner.reset();
  }

  feed(start: usize, size: i32): void {
    const window = PIECE + <usize>WINDOW_SLACK_BYTES;
    while (size > 0) {
      const piece = min(size, PIECE_BYTES);
      memory.copy(window, start, piece);
      if (this.scanner.feed(window, piece) == Progress.Malformed) return;
      start += <usize>piece;
      size -= piece;
    }
  }

  /** True when the document was whole. What a cut one has told so far stands, but is not put together. */
  end(): bool {
    if (this.scanner.finish() != Progress.Done) return false;
    this.sink.conclude();
    return true;
  }
}

/** Free scanners. A stream takes one only while a document of its answer is cut by a chunk. */
export class AnswerScanners {
  private free: AnswerScanner | null = null;

  take(): AnswerScanner {
    const scanner = this.free;
    if (scanner == null) return new AnswerScanner();
    this.free = scanner.next;
    scanner.next = null;
    return scanner;
  }

  give(scanner: AnswerScanner): void {
    scanner.next = this.free;
    this.free = scanner;
  }
}
