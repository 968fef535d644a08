// SPDX-License-Identifier: Apache-2.0
// Streaming JSON scanner: finds the tokens of a document that arrives in windows of any size, builds nothing.
import { firstBytes, shortText } from "../hash/text";
import {
  BOM_FIRST,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  isDigit,
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
import { plainLength } from "./masks";
import { NumberReader } from "./number-reader";
import { Progress } from "./progress";
import { Container, Literal, Sink, Token } from "./sink";
import { TextReader } from "./text-reader";

/** Scratch that a window must offer before its first and behind its last byte. */
export const WINDOW_SLACK_BYTES: i32 = 128;

/** Deeper documents are refused. One bit a level, so depth is cheap, and no agent comes near. */
export const MAX_DEPTH: i32 = 1024;

const UPPER_I: i32 = 0x49;
const UPPER_N: i32 = 0x4e;
const LITERAL: u64 = 0x2545f4914f6cdd1d;

/** What the grammar allows next. */
enum Expect {
  Document,
  Value,
  ValueOrEnd,
  Key,
  KeyOrEnd,
  Colon,
  CommaOrEnd,
  InText,
  InKey,
  Nothing,
}

/**
 * Keeps the tail, not the state: a token that does not end in a window is not consumed, its bytes (at most 128;
 * of a text, less than one block) are put in front of the next window. So there is no state inside numbers,
 * literals and escapes, and a cut cannot be seen in what the sink is told. Every turn of every loop consumes a
 * byte or returns.
 */
export class Scanner {
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

  constructor(private readonly sink: Sink) {
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
    this.token.wantText = this.token.wantPieces = false;
  }

  /**
   * Scans one window. WINDOW_SLACK_BYTES before `start` and behind `start + size` must be readable and writable;
   * what stands there does not matter.
   */
  feed(start: usize, size: i32): Progress {
    if (this.progress == Progress.Malformed) return this.progress;
    const end = start + <usize>size;
    const first = start - <usize>this.tailBytes;
    memory.copy(first, changetype<usize>(this.tail), this.tailBytes);
    this.origin = first - <usize>this.position;
    const stop = this.scan(first, end);
    this.position = <i32>(stop - this.origin);
    const left = end - stop;
    // What is longer than any token that waits for its end is none.
    if (left > <usize>WINDOW_SLACK_BYTES) this.progress = Progress.Malformed;
    if (this.progress != Progress.NeedMore) return this.progress;
    this.tailBytes = <i32>left;
    memory.copy(changetype<usize>(this.tail), stop, left);
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

  private scan(p: usize, end: usize): usize {
    while (p < end && this.progress != Progress.Malformed) {
      const expect = this.expect;
      if (expect == Expect.InText || expect == Expect.InKey) {
        p = this.continueText(p, end);
        if (this.expect == expect) return p;
        continue;
      }
      const byte = <i32>load<u8>(p);
      if (byte <= SPACE) {
        if (!isSpace(byte)) this.refuse();
        p++;
        continue;
      }
      switch (expect) {
        case Expect.Key:
        case Expect.KeyOrEnd: {
          if (byte == QUOTE) p = this.beginText(p + 1, end, true);
          else if (byte == CLOSE_BRACE && expect == Expect.KeyOrEnd) p = this.close(p, end);
          else this.refuse();
          break;
        }
        case Expect.Colon: {
          if (byte != COLON) this.refuse();
          this.expect = Expect.Value;
          p++;
          break;
        }
        case Expect.CommaOrEnd: {
          if (byte == COMMA) {
            this.expect = this.inObject ? Expect.Key : Expect.Value;
            p++;
          } else if (byte == (this.inObject ? CLOSE_BRACE : CLOSE_BRACKET)) {
            p = this.close(p, end);
          } else {
            this.refuse();
          }
          break;
        }
        case Expect.Nothing: {
          this.refuse();
          break;
        }
        default: {
          const next = this.value(p, end, byte);
          if (next == p) return p;
          p = next;
        }
      }
    }
    return p;
  }

  /** The value that begins with `byte`; returns `p` itself when its end is not in sight or it is refused. */
  private value(p: usize, end: usize, byte: i32): usize {
    if (byte == QUOTE) return this.beginText(p + 1, end, false);
    if (byte == OPEN_BRACE) return this.open(p, true);
    if (byte == OPEN_BRACKET) return this.open(p, false);
    if (byte == CLOSE_BRACKET && this.expect == Expect.ValueOrEnd) return this.close(p, end);
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
    this.refuse();
    return p;
  }

  private open(p: usize, isObject: bool): usize {
    if (this.depth == MAX_DEPTH) {
      this.refuse();
      return p;
    }
    const word = this.depth >> 6;
    const bit: u64 = (<u64>1) << (this.depth & 63);
    const kinds = unchecked(this.kinds[word]);
    unchecked((this.kinds[word] = isObject ? kinds | bit : kinds & ~bit));
    this.depth++;
    this.inObject = isObject;
    this.expect = isObject ? Expect.KeyOrEnd : Expect.ValueOrEnd;
    const token = this.token;
    token.offset = <i32>(p + 1 - this.origin);
    token.wantText = token.wantPieces = false;
    this.sink.begin(isObject ? Container.Object : Container.Array, token);
    return p + 1;
  }

  private close(p: usize, end: usize): usize {
    const kind = this.inObject ? Container.Object : Container.Array;
    const depth = --this.depth;
    if (depth > 0) {
      const kinds = unchecked(this.kinds[(depth - 1) >> 6]);
      this.inObject = ((kinds >> ((depth - 1) & 63)) & 1) != 0;
    }
    this.token.offset = <i32>(p + 1 - this.origin);
    this.sink.end(kind, this.token);
    return this.afterValue(p + 1, end);
  }

  /**
   * The text at `p`, behind its quote. Most texts end within a vector and need no state: one load, one mask,
   * one hash.
   */
  private beginText(p: usize, end: usize, isKey: bool): usize {
    const bytes = v128.load(p);
    const size = plainLength(bytes);
    const close = p + <usize>size;
    const token = this.token;
    if (size < 16 && close < end && <i32>load<u8>(close) == QUOTE) {
      token.hash = shortText(v128.and(bytes, firstBytes(size)), size);
      token.bytes = size;
      token.text = p;
      token.textBytes = size;
      token.escapes = 0;
      token.sample.clear();
      countShortWide(token, bytes, size);
      return this.endText(close + 1, end, isKey);
    }
    const keep = isKey ? this.keepKeys : token.wantText;
    this.text.begin(keep, !isKey && token.wantPieces);
    this.expect = isKey ? Expect.InKey : Expect.InText;
    return this.continueText(p, end);
  }

  private continueText(p: usize, end: usize): usize {
    const next = this.text.read(p, end);
    const progress = this.text.progress;
    if (progress == Progress.Done) return this.endText(next, end, this.expect == Expect.InKey);
    if (progress == Progress.Malformed) this.refuse();
    return next;
  }

  /** Reports the text that ends at `next`, and takes the colon or comma that nearly always stands there. */
  private endText(next: usize, end: usize, isKey: bool): usize {
    const token = this.token;
    token.offset = <i32>(next - this.origin);
    if (!isKey) {
      token.wantText = token.wantPieces = false;
      this.sink.text(token);
      return this.afterValue(next, end);
    }
    this.sink.key(token);
    const hasColon = next < end && <i32>load<u8>(next) == COLON;
    this.expect = hasColon ? Expect.Value : Expect.Colon;
    return hasColon ? next + 1 : next;
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
    if (numbers.progress == Progress.Malformed) this.refuse();
    if (numbers.progress != Progress.Done) return p;
    this.token.hash = numbers.hash;
    this.token.value = numbers.value;
    this.token.offset = <i32>(next - this.origin);
    this.sink.number(this.token);
    return this.afterValue(next, end);
  }

  private word(p: usize, end: usize, expected: usize, size: i32, literal: Literal): usize {
    const inSight = min(<usize>size, end - p);
    if (memory.compare(p, expected, inSight) != 0) {
      this.refuse();
      return p;
    }
    if (inSight < <usize>size) return p;
    const next = p + <usize>size;
    this.token.literal = literal;
    this.token.hash = mix(LITERAL + <u64>literal);
    this.token.offset = <i32>(next - this.origin);
    this.sink.literal(this.token);
    return this.afterValue(next, end);
  }

  /** Accepted once, at the very beginning, as clients on Windows write it. */
  private byteOrderMark(p: usize, end: usize): usize {
    if (p != this.origin || memory.compare(p, BOM, min(<usize>3, end - p)) != 0) {
      this.refuse();
      return p;
    }
    return end - p < 3 ? p : p + 3;
  }

  /** The value before `p` is complete: takes the comma behind it, if it stands right there. */
  private afterValue(p: usize, end: usize): usize {
    this.token.wantText = this.token.wantPieces = false;
    if (this.depth == 0) {
      this.expect = Expect.Nothing;
      this.progress = Progress.Done;
      return p;
    }
    if (p == end || <i32>load<u8>(p) != COMMA) {
      this.expect = Expect.CommaOrEnd;
      return p;
    }
    this.expect = this.inObject ? Expect.Key : Expect.Value;
    return p + 1;
  }

  private refuse(): void {
    this.progress = Progress.Malformed;
  }
}

// @ts-ignore: decorator
@inline
function countShortWide(token: Token, bytes: v128, size: i32): void {
  const wide = (<u32>i8x16.bitmask(bytes)) & ((1 << size) - 1);
  token.wideBytes = token.wideCharacters = 0;
  if (wide == 0) return;
  const first = <u32>i8x16.bitmask(i8x16.ge_u(bytes, i8x16.splat(<i8>0xc0)));
  token.wideBytes = popcnt(wide);
  token.wideCharacters = popcnt(first & wide);
}

const TRUE: usize = memory.data<u8>([0x74, 0x72, 0x75, 0x65]);
const FALSE: usize = memory.data<u8>([0x66, 0x61, 0x6c, 0x73, 0x65]);
const NULL: usize = memory.data<u8>([0x6e, 0x75, 0x6c, 0x6c]);
const NAN: usize = memory.data<u8>([0x4e, 0x61, 0x4e]);
const MINUS_INFINITY: usize = memory.data<u8>([
  0x2d, 0x49, 0x6e, 0x66, 0x69, 0x6e, 0x69, 0x74, 0x79,
]);
const BOM: usize = memory.data<u8>([0xef, 0xbb, 0xbf]);
/** One byte of white space between the slacks of a window. */
const LAST_WINDOW: usize = memory.data(2 * 128 + 1);
