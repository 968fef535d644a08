// SPDX-License-Identifier: Apache-2.0
// Streaming JSON scanner: finds the tokens of a document that arrives in windows of any size, builds nothing.
import {
  BOM_FIRST,
  CLOSE_BRACE,
  COLON,
  COMMA,
  isClose,
  isDigit,
  isOpen,
  isSpace,
  LINE_FEED,
  LOWER_F,
  LOWER_N,
  LOWER_T,
  MINUS,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
  SPACE,
} from "./bytes";
import { mix } from "../hash/mix";
import { BOM, FALSE, MINUS_INFINITY, NAN, NULL, TRUE } from "./fixed-words";
import { NumberReader } from "./number-reader";
import { Progress } from "./progress";
import { Container, Literal, Sink, Token } from "./sink";
import { TextReader } from "./text-reader";
import { readWord, readLine } from "./whole-text";

/** Scratch that a window must offer before its first and behind its last byte. */
export const WINDOW_SLACK_BYTES: i32 = 128;

/** Deeper documents are refused. One bit a level, so depth is cheap, and no agent comes near. */
export const MAX_DEPTH: i32 = 1024;

const UPPER_I: i32 = 0x49;
const UPPER_N: i32 = 0x4e;
const LITERAL: u64 = 0x2545f4914f6cdd1d;

/** What the grammar allows next: keys, then values, then what is neither. */
enum Expect {
  Key,
  KeyOrEnd,
  Value,
  ValueOrEnd,
  Document,
  Colon,
  CommaOrEnd,
  InText,
  InKey,
  Nothing,
}
/** One bit for each that allows an end. */
const ENDS: i32 = (1 << Expect.KeyOrEnd) | (1 << Expect.ValueOrEnd) | (1 << Expect.CommaOrEnd);

/**
 * Keeps the tail, not the state: a token that does not end in a window is not consumed, its bytes (at most 128;
 * of a text, less than one block) are put in front of the next window. So there is no state inside numbers,
 * literals and escapes, and a cut cannot be seen in what the sink is told. Every turn of every loop consumes a
 * byte or returns. The class of the sink is known to the compiler, so a token costs no look-up of its methods.
 */
export class Scanner<S extends Sink> {
  readonly token: Token;
  /** Keep the decoded bytes of every key: for readers that must name them. */
  keepKeys: bool = false;

  private readonly text: TextReader;
  private readonly numbers: NumberReader = new NumberReader();
  private readonly tail: StaticArray<u8> = new StaticArray<u8>(WINDOW_SLACK_BYTES);
  private tailBytes: i32 = 0;
  /** One bit a level: 1 = object. */
  private readonly kinds: StaticArray<u64> = new StaticArray<u64>(MAX_DEPTH / 64);
  private depth: i32 = 0;
  private inObject: bool = false;
  private expect: Expect = Expect.Document;
  private progress: Progress = Progress.NeedMore;
  /** Document offset of the first byte not consumed, and the address at which offset 0 would lie. */
  private position: i32 = 0;
  private origin: usize = 0;
  /** The array of this window that the sink was asked for and did not know, and the depth around it. */
  private askedFrom: usize = 0;
  private askedDepth: i32 = 0;
  /** The scan stands in front of an array that the sink may know. */
  private asks: bool = false;

  constructor(private readonly sink: S) {
    const token = new Token();
    this.token = token;
    this.text = new TextReader(sink, token);
  }

  /** Makes ready for another document. */
  reset(): void {
    this.tailBytes = this.depth = this.position = 0;
    this.inObject = false;
    this.expect = Expect.Document;
    this.progress = Progress.NeedMore;
    this.token.clearWants();
    this.token.clearDetails();
  }

  /**
   * Scans one window. WINDOW_SLACK_BYTES before `start` and behind `start + size` must be readable and writable;
   * what stands there does not matter.
   */
  feed(start: usize, size: i32): Progress {
    if (this.progress == Progress.Malformed) return this.progress;
    const end = start + <usize>size;
    const first = start - <usize>this.tailBytes;
    // A copy is a call out of the module, even of nothing.
    if (this.tailBytes > 0) memory.copy(first, changetype<usize>(this.tail), this.tailBytes);
    this.origin = first - <usize>this.position;
    this.askedFrom = 0;
    let stop = this.scan(first, end);
    while (this.asks) stop = this.scan(this.passKnown(stop, end), end);
    this.position = <i32>(stop - this.origin);
    const left = end - stop;
    // What is longer than any token that waits for its end is none.
    if (left > <usize>WINDOW_SLACK_BYTES) this.progress = Progress.Malformed;
    if (this.progress != Progress.NeedMore) return this.progress;
    this.tailBytes = <i32>left;
    if (left > 0) memory.copy(changetype<usize>(this.tail), stop, left);
    return this.progress;
  }

  /** No more bytes will come: Done, Malformed, or NeedMore for a document that was cut. */
  finish(): Progress {
    const cut = this.depth > 0 || this.expect == Expect.InText;
    if (this.progress != Progress.NeedMore || cut || this.tailBytes == 0) return this.progress;
    // A number at the top ends where the document ends: white space says so.
    store<u8>(LAST_WINDOW + <usize>WINDOW_SLACK_BYTES, <u8>LINE_FEED);
    return this.feed(LAST_WINDOW + <usize>WINDOW_SLACK_BYTES, 1);
  }

  /** The loop over all tokens. What it knows stands in locals; in the fields it is left for the next window. */
  private scan(p: usize, end: usize): usize {
    if (this.expect == Expect.InText || this.expect == Expect.InKey) {
      p = this.continueText(p, end);
      if (this.expect == Expect.InText || this.expect == Expect.InKey) return p;
    }
    const sink = this.sink;
    const token = this.token;
    const origin = this.origin;
    let expect = this.expect;
    let inObject = this.inObject;
    while (p < end) {
      const byte = <i32>load<u8>(p);
      if (byte == QUOTE && expect <= Expect.Document) {
        if (expect <= Expect.KeyOrEnd) {
          let next = readWord(p + 1, end, token);
          if (next == 0) {
            next = this.longText(p + 1, end, this.keepKeys, false);
            if (this.text.progress != Progress.Done) return this.stop(next, Expect.InKey, inObject);
            token.offset = <i32>(next - origin);
            sink.key(token);
            token.clearDetails();
          } else {
            token.offset = <i32>(next - origin);
            sink.key(token);
          }
          p = next;
          // Nearly always the colon stands right behind it, and a text behind that.
          expect = Expect.Colon;
          if (p >= end || <i32>load<u8>(p) != COLON) continue;
          expect = Expect.Value;
          p++;
          if (p >= end || <i32>load<u8>(p) != QUOTE) continue;
        }
        let next = readWord(p + 1, end, token);
        if (next == 0) {
          next = this.longText(p + 1, end, token.wantText, token.wantPieces);
          if (this.text.progress != Progress.Done) return this.stop(next, Expect.InText, inObject);
          token.offset = <i32>(next - origin);
          token.clearWants();
          sink.text(token);
          token.clearDetails();
        } else {
          token.offset = <i32>(next - origin);
          token.clearWants();
          sink.text(token);
        }
        p = next;
      } else if (byte <= SPACE) {
        if (!isSpace(byte)) return this.refuse(p);
        p++;
        continue;
      } else if (isClose(byte)) {
        const mayEnd = ((ENDS >> expect) & 1) != 0;
        if (!mayEnd || inObject != (byte == CLOSE_BRACE)) return this.refuse(p);
        p++;
        token.offset = <i32>(p - origin);
        token.clearWants();
        inObject = this.leave();
        sink.end(byte == CLOSE_BRACE ? Container.Object : Container.Array, token);
        if (this.askedFrom != 0 && this.depth == this.askedDepth) this.endAsked(p);
      } else if (expect == Expect.CommaOrEnd) {
        if (byte != COMMA) return this.refuse(p);
        expect = inObject ? Expect.Key : Expect.Value;
        p++;
        continue;
      } else if (expect == Expect.Colon) {
        if (byte != COLON) return this.refuse(p);
        expect = Expect.Value;
        p++;
        continue;
      } else if (expect < Expect.Value || expect > Expect.Document) {
        return this.refuse(p);
      } else if (token.wantKnown && byte == OPEN_BRACKET) {
        this.asks = true;
        return this.stop(p, expect, inObject);
      } else if (isOpen(byte)) {
        inObject = byte == OPEN_BRACE;
        if (!this.enter(inObject)) return this.refuse(p);
        token.clearWants();
        const opening = inObject ? sink.passOpening(p, end, token) : 0;
        if (opening != 0) {
          p += <usize>opening;
          expect = Expect.Value;
          continue;
        }
        p++;
        token.offset = <i32>(p - origin);
        sink.begin(inObject ? Container.Object : Container.Array, token);
        expect = inObject ? Expect.KeyOrEnd : Expect.ValueOrEnd;
        continue;
      } else {
        this.expect = expect;
        token.clearWants();
        const next = this.scalar(p, end, byte);
        if (next == p) return this.stop(p, expect, inObject);
        p = next;
        if (byte == BOM_FIRST) continue;
      }
      // A value is complete: nearly always the comma behind it stands right there.
      if (this.depth == 0) {
        this.progress = Progress.Done;
        expect = Expect.Nothing;
      } else if (p < end && <i32>load<u8>(p) == COMMA) {
        expect = inObject ? Expect.Key : Expect.Value;
        p++;
      } else {
        expect = Expect.CommaOrEnd;
      }
    }
    return this.stop(p, expect, inObject);
  }

  // @ts-ignore: decorator
  @inline
  private stop(p: usize, expect: Expect, inObject: bool): usize {
    this.expect = expect;
    this.inObject = inObject;
    return p;
  }

  private refuse(p: usize): usize {
    this.progress = Progress.Malformed;
    return p;
  }

  // @ts-ignore: decorator
  @inline
  private enter(isObject: bool): bool {
    const depth = this.depth;
    if (depth == MAX_DEPTH) return false;
    const bit: u64 = (<u64>1) << (depth & 63);
    const word = depth >> 6;
    const kinds = unchecked(this.kinds[word]);
    unchecked((this.kinds[word] = isObject ? kinds | bit : kinds & ~bit));
    this.depth = depth + 1;
    return true;
  }

  /** Leaves a container; true when the one around it is an object. */
  // @ts-ignore: decorator
  @inline
  private leave(): bool {
    const depth = this.depth - 1;
    this.depth = depth;
    if (depth == 0) return false;
    const level = depth - 1;
    return ((unchecked(this.kinds[level >> 6]) >> (level & 63)) & 1) != 0;
  }

  /** Passes over the array at `p` if the sink knows it by its bytes. If not, it is told them at their end. */
  private passKnown(p: usize, end: usize): usize {
    this.asks = false;
    this.token.clearWants();
    const known = this.sink.findKnown(p, end);
    this.askedFrom = known == 0 ? p : 0;
    this.askedDepth = this.depth;
    if (known != 0) this.expect = Expect.CommaOrEnd;
    return p + <usize>known;
  }

  private endAsked(end: usize): void {
    this.sink.learnKnown(this.askedFrom, <i32>(end - this.askedFrom));
    this.askedFrom = 0;
  }

  /** A number or a word; returns `p` itself when its end is not in sight or it is refused. */
  private scalar(p: usize, end: usize, byte: i32): usize {
    if (isDigit(byte) || byte == MINUS) return this.number(p, end, byte);
    switch (byte) {
      case LOWER_T:
        return this.word(p, end, TRUE, 4, Literal.True);
      case LOWER_F:
        return this.word(p, end, FALSE, 5, Literal.False);
      case LOWER_N:
        return this.word(p, end, NULL, 4, Literal.Null);
      case UPPER_N:
        return this.word(p, end, NAN, 3, Literal.NotFinite);
      case UPPER_I:
        return this.word(p, end, MINUS_INFINITY + 1, 8, Literal.NotFinite);
      case BOM_FIRST:
        if (this.expect == Expect.Document && this.position == 0) return this.byteOrderMark(p, end);
    }
    return this.refuse(p);
  }

  /** A text that is longer than a vector, or has escapes. */
  private longText(p: usize, end: usize, keep: bool, inPieces: bool): usize {
    const text = this.text;
    const line = readLine(p, end, this.token, keep);
    if (line != 0) {
      text.progress = Progress.Done;
      return line;
    }
    text.begin(keep, inPieces);
    const next = text.read(p, end);
    if (text.progress == Progress.Malformed) this.progress = Progress.Malformed;
    return next;
  }

  /** The rest of a text that began in an earlier window. */
  private continueText(p: usize, end: usize): usize {
    const next = this.text.resume(p, end);
    if (this.text.progress == Progress.Malformed) this.progress = Progress.Malformed;
    if (this.text.progress != Progress.Done) return next;
    const token = this.token;
    token.offset = <i32>(next - this.origin);
    if (this.expect == Expect.InKey) {
      this.expect = Expect.Colon;
      this.sink.key(token);
      token.clearDetails();
      return next;
    }
    token.clearWants();
    this.sink.text(token);
    token.clearDetails();
    this.expect = this.depth > 0 ? Expect.CommaOrEnd : Expect.Nothing;
    if (this.depth == 0) this.progress = Progress.Done;
    return next;
  }

  private number(p: usize, end: usize, byte: i32): usize {
    if (byte == MINUS) {
      if (p + 1 >= end) return p;
      if (<i32>load<u8>(p, 1) == UPPER_I) {
        return this.word(p, end, MINUS_INFINITY, 9, Literal.NotFinite);
      }
    }
    const numbers = this.numbers;
    const next = numbers.readNumber(p, end);
    if (numbers.progress == Progress.Malformed) return this.refuse(p);
    if (numbers.progress != Progress.Done) return p;
    this.token.hash = numbers.hash;
    this.token.value = numbers.value;
    this.token.offset = <i32>(next - this.origin);
    this.sink.number(this.token);
    return next;
  }

  private word(p: usize, end: usize, expected: usize, size: i32, literal: Literal): usize {
    const inSight = min(<usize>size, end - p);
    if (memory.compare(p, expected, inSight) != 0) {
      return this.refuse(p);
    }
    if (inSight < <usize>size) return p;
    const next = p + <usize>size;
    this.token.literal = literal;
    this.token.hash = mix(LITERAL + <u64>literal);
    this.token.offset = <i32>(next - this.origin);
    this.sink.literal(this.token);
    return next;
  }

  /** Accepted once, at the very beginning, as clients on Windows write it. */
  private byteOrderMark(p: usize, end: usize): usize {
    if (p != this.origin || memory.compare(p, BOM, min(<usize>3, end - p)) != 0) {
      return this.refuse(p);
    }
    return end - p < 3 ? p : p + 3;
  }
}

/** One byte of white space between the slacks of a window. */
const LAST_WINDOW: usize = memory.data(2 * 128 + 1);
