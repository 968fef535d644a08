// SPDX-License-Identifier: Apache-2.0
// Reads a stream of server-sent events into an Outcome, looking into few of them.
import { CARRIAGE_RETURN, COLON, LINE_FEED, OPEN_BRACKET, SPACE } from "../json/bytes";
import { AnswerScanner, AnswerScanners } from "./answer-scanner";
import { EventHint, eventHintOf } from "./event-names";
import { lineEnd, mayConclude } from "./line-search";
import { Outcome } from "./outcome";

/** "data" and "even", as loaded from memory. */
const DATA: u32 = 0x61746164;
const EVEN: u32 = 0x6e657665;
/** "t:" behind "even". */
const T_COLON: u16 = 0x3a74;
const DATA_FIELD: string = "data:";
const DATA_BYTES: usize = 5;
const EVENT_BYTES: usize = 6;
const NEW_LINE: usize = memory.data<u8>([0x0a]);

enum Mode {
  /** At the begin of a line, `matched` bytes of "data:" behind it. */
  Field,
  /** Inside a line that does not matter. */
  Skip,
  /** At the begin of data that a chunk has cut. */
  DataStart,
  /** Inside data that a chunk has cut: every byte goes to the scanner. */
  Data,
}

/**
 * An event that lies in one chunk as a whole is passed over by its name or by a search for the keys that tell an
 * end; only what a chunk cuts is scanned in any case. So nothing of a chunk is kept, however events are split.
 */
export class EventStream {
  private outcome: Outcome = new Outcome();
  /** Event names are hints (Messages, Responses); otherwise the bytes decide. */
  private named: bool = false;
  private mode: Mode = Mode.Field;
  private matched: i32 = 0;
  private hint: EventHint = EventHint.None;
  private afterReturn: bool = false;
  /** Holds the document of a cut event. */
  private scanner: AnswerScanner | null = null;

  constructor(private readonly scanners: AnswerScanners) {}

  /** Makes ready for another stream; `finish` must have been called for the one before. */
  reset(outcome: Outcome, named: bool): void {
    this.outcome = outcome;
    this.named = named;
    this.mode = Mode.Field;
    this.matched = 0;
    this.hint = EventHint.None;
    this.afterReturn = false;
  }

  /** Takes the next bytes; nothing of them is kept. */
  feed(start: usize, size: i32): void {
    const end = start + <usize>size;
    let p = start;
    while (p < end) {
      if (this.mode == Mode.Field) p = this.field(p, end);
      else if (this.mode == Mode.Skip) p = this.skip(p, end);
      else p = this.data(p, end);
    }
  }

  /** The stream has ended: an event without its empty line counts if it is whole. */
  finish(): void {
    this.endEvent();
  }

  /** At the begin of a line, or behind a part of "data:". Consumes at least a byte. */
  private field(p: usize, end: usize): usize {
    const byte = <i32>load<u8>(p);
    if (this.afterReturn) {
      this.afterReturn = false;
      if (byte == LINE_FEED) return p + 1;
    }
    if (byte == LINE_FEED || byte == CARRIAGE_RETURN) {
      if (this.matched == 0) this.endEvent();
      return this.endLine(p);
    }
    if (this.matched == 0 && p + EVENT_BYTES <= end) {
      if (load<u32>(p) == DATA && load<u8>(p, 4) == COLON) return this.wholeData(p, end);
      if (load<u32>(p) == EVEN && load<u16>(p, 4) == T_COLON) return this.eventName(p, end);
      this.mode = Mode.Skip;
      return p;
    }
    if (byte != DATA_FIELD.charCodeAt(this.matched)) {
      this.mode = Mode.Skip;
      return p;
    }
    if (++this.matched == <i32>DATA_BYTES) {
      this.matched = 0;
      this.mode = Mode.DataStart;
    }
    return p + 1;
  }

  /** A line that begins with "data:": decided at once if its event ends in this chunk. */
  private wholeData(p: usize, end: usize): usize {
    p += DATA_BYTES;
    const lineStop = lineEnd(p, end);
    if (this.scanner != null || !isLast(lineStop, end)) {
      this.mode = Mode.DataStart;
      return p;
    }
    while (p < lineStop && load<u8>(p) == SPACE) p++;
    if (p < lineStop) this.event(p, lineStop);
    return this.endLine(lineStop);
  }

  /** The whole data of one event. */
  private event(start: usize, end: usize): void {
    if (load<u8>(start) == OPEN_BRACKET) {
      this.outcome.complete = true;
      return;
    }
    if (this.named && this.hint != EventHint.None) {
      if (this.hint == EventHint.Tokens) this.outcome.firstToken = true;
      if (this.hint != EventHint.Telling) return;
    } else if (!this.named) {
      this.outcome.firstToken = true;
      if (this.outcome.responseId != 0 && !mayConclude(start, end)) return;
    }
    const scanner = this.scanners.take();
    scanner.begin(this.outcome);
    scanner.feed(start, <i32>(end - start));
    scanner.end();
    this.scanners.give(scanner);
  }

  private eventName(p: usize, end: usize): usize {
    const lineStop = lineEnd(p, end);
    if (lineStop == end) {
      this.mode = Mode.Skip;
      return end;
    }
    p += EVENT_BYTES;
    if (p < lineStop && load<u8>(p) == SPACE) p++;
    this.hint = eventHintOf(p, <i32>(lineStop - p));
    return this.endLine(lineStop);
  }

  private skip(p: usize, end: usize): usize {
    const lineStop = lineEnd(p, end);
    return lineStop == end ? end : this.endLine(lineStop);
  }

  private data(p: usize, end: usize): usize {
    if (this.mode == Mode.DataStart) {
      const byte = <i32>load<u8>(p);
      if (byte == SPACE) return p + 1;
      if (byte == LINE_FEED || byte == CARRIAGE_RETURN) return this.endLine(p);
      if (byte == OPEN_BRACKET) {
        this.outcome.complete = true;
        this.mode = Mode.Skip;
        return p;
      }
      this.mode = Mode.Data;
      this.openDocument();
    }
    const lineStop = lineEnd(p, end);
    this.scanner!.feed(p, <i32>(lineStop - p));
    return lineStop == end ? end : this.endLine(lineStop);
  }

  private openDocument(): void {
    const scanner = this.scanner;
    if (scanner != null) {
      // Another line of the same event's data.
      scanner.feed(NEW_LINE, 1);
      return;
    }
    if (!this.named || this.hint == EventHint.Tokens) this.outcome.firstToken = true;
    const taken = this.scanners.take();
    taken.begin(this.outcome);
    this.scanner = taken;
  }

  /** At a line feed or carriage return. */
  private endLine(p: usize): usize {
    this.afterReturn = load<u8>(p) == CARRIAGE_RETURN;
    this.mode = Mode.Field;
    this.matched = 0;
    return p + 1;
  }

  private endEvent(): void {
    this.hint = EventHint.None;
    const scanner = this.scanner;
    if (scanner == null) return;
    scanner.end();
    this.scanners.give(scanner);
    this.scanner = null;
  }
}

/** Whether an empty line follows the one that ends at `stop`, in these bytes. */
function isLast(stop: usize, end: usize): bool {
  let next = stop + 1;
  if (next < end && load<u8>(stop) == CARRIAGE_RETURN && load<u8>(next) == LINE_FEED) next++;
  return next < end && (load<u8>(next) == LINE_FEED || load<u8>(next) == CARRIAGE_RETURN);
}
