// SPDX-License-Identifier: Apache-2.0
// What a scanner reports, and to whom: the tokens of a JSON document, one call each, in document order.
import { TokenSample } from "./token-sample";

export enum Container {
  Object = 0,
  Array = 1,
}

/** `NaN` and the infinities are not JSON, but Python clients write them: they count as literals. */
export enum Literal {
  Null = 0,
  False = 1,
  True = 2,
  NotFinite = 3,
}

/**
 * The token at hand. One object per scanner, refilled for every token: copy what must outlive the call.
 * A sink may set the `want` flags while it takes a key or the begin of an array; they hold for the next value only.
 */
export class Token {
  /** Hash of a key, text, number or literal by its meaning: `hashName("role")` equals the key `"r\u006fle"`. */
  hash: u64 = 0;
  /** Offset in the document just behind the token. */
  offset: i32 = 0;

  /** Decoded length of a key or text in UTF-8 bytes. */
  bytes: u32 = 0;
  // Details follow, none of which a short plain text has.
  /** Bytes that belong to characters outside ASCII, and how many such characters there are. */
  wideBytes: u32 = 0;
  wideCharacters: u32 = 0;
  /** Escapes that its canonical form has: how much of it is code, or JSON in a text. */
  escapes: u32 = 0;
  /** What a tokenizer would make of it. */
  readonly sample: TokenSample = new TokenSample();

  /** Decoded bytes of a key or text, where it was wanted or is short (`textBytes` 0 and `bytes` > 0: not kept). */
  text: usize = 0;
  /** Bytes at `text`: all of it, or the first MAX_TEXT_BYTES of a longer one. */
  textBytes: i32 = 0;

  /** Value of a number. */
  value: f64 = 0;
  /** Kind of a literal. */
  literal: Literal = Literal.Null;

  /** Keep the decoded bytes of the next text, up to MAX_TEXT_BYTES. */
  wantText: bool = false;
  /** Report the next text in pieces of PIECE_BYTES as well. */
  wantPieces: bool = false;
  /** Ask whether the next value, if it is an array, is known (`Sink.findKnown`). */
  wantKnown: bool = false;

  /** Behind every text that is no short plain one: what has been said of it is true of all short ones again. */
  // @ts-ignore: decorator
  @inline
  clearDetails(): void {
    this.wideBytes = this.wideCharacters = this.escapes = 0;
    this.sample.clear();
  }

  // @ts-ignore: decorator
  @inline
  clearWants(): void {
    // All at once: they lie side by side at the end, and this is done for every token.
    if (offsetof<Token>() != offsetof<Token>("wantText") + 3)
      ERROR("what lies behind the wants would be cleared with them");
    store<u32>(changetype<usize>(this), 0, offsetof<Token>("wantText"));
  }
}

/** Most bytes of a text that a token keeps. */
export const MAX_TEXT_BYTES: i32 = 512;

/** Canonical bytes after which a text that is wanted in pieces is reported once more. */
export const PIECE_BYTES: i32 = 1024;

/** Takes the tokens of a document. The scanner has checked the grammar: calls are always balanced. */
export abstract class Sink {
  abstract begin(kind: Container, token: Token): void;
  abstract end(kind: Container, token: Token): void;
  abstract key(token: Token): void;
  abstract text(token: Token): void;
  abstract number(token: Token): void;
  abstract literal(token: Token): void;

  /** A wanted text has come to another piece: `hash` and `bytes` are those of the text so far. */
  piece(_token: Token): void {}

  /**
   * The sink may take the object at `p` itself up to the colon behind one of its keys, all before `end`, as if it had
   * been told: the bytes of that, or 0. `begin` is not called then.
   */
  passOpening(_p: usize, _end: usize, _token: Token): i32 {
    return 0;
  }

  /** Bytes of the array at `p` where the sink has seen the same before `end`, and so needs no token of it; or 0. */
  findKnown(_p: usize, _end: usize): i32 {
    return 0;
  }

  /** The array that was asked for has ended, and lies at `p` as a whole. */
  learnKnown(_p: usize, _size: i32): void {}
}
