// SPDX-License-Identifier: Apache-2.0
// A deterministic tokenizer of about four bytes a token, and the growing list that it fills.

/** Ids below this are special tokens of the chat template; text never yields them. */
const FIRST_TEXT_TOKEN = 1024;

const LETTERS_PER_TOKEN = 10;
const DIGITS_PER_TOKEN = 3;
const MARKS_PER_TOKEN = 4;
const BLANKS_PER_TOKEN = 12;

const LETTER = 1;
const DIGIT = 2;
const BLANK = 3;
const MARK = 4;
const LIMIT = [0, LETTERS_PER_TOKEN, DIGITS_PER_TOKEN, BLANKS_PER_TOKEN, MARKS_PER_TOKEN];
const SPACE = 0x20;

const CLASSES = new Uint8Array(128).map((_, code) => {
  const char = String.fromCharCode(code);
  if (/[A-Za-z_]/.test(char)) return LETTER;
  if (/[0-9]/.test(char)) return DIGIT;
  return /\s/.test(char) ? BLANK : MARK;
});

/** Token ids in the order of the prompt. */
export class TokenList {
  private ids = new Int32Array(1024);
  length = 0;

  push(id: number): void {
    if (this.length === this.ids.length) {
      const larger = new Int32Array(this.ids.length * 2);
      larger.set(this.ids);
      this.ids = larger;
    }
    this.ids[this.length] = id;
    this.length++;
  }

  /** A view that is valid until the next `push`. */
  view(): Int32Array {
    return this.ids.subarray(0, this.length);
  }
}

/**
 * Appends the tokens of `text`: pieces of one kind of character, words with the space before them,
 * every non-ASCII code point by itself. `ends` receives the end of each piece in UTF-16 units.
 * A token's id is a hash of its piece, so equal text has equal ids on every endpoint.
 */
export function tokenize(text: string, tokens: TokenList, ends?: number[]): void {
  let at = 0;
  while (at < text.length) {
    const end = pieceEnd(text, at);
    tokens.push(pieceId(text, at, end));
    ends?.push(end);
    at = end;
  }
}

/** Tokens in `text`. */
export function countTokens(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; at = pieceEnd(text, at)) count++;
  return count;
}

function classAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < 128 ? (CLASSES[code] as number) : 0; // charCodeAt past the end is NaN: class 0 too.
}

function pieceEnd(text: string, start: number): number {
  let at = start;
  if (text.charCodeAt(at) === SPACE && classAt(text, at + 1) === LETTER) at++;
  const kind = classAt(text, at);
  if (kind === 0) return at + ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
  const limit = Math.min(text.length, at + (LIMIT[kind] as number));
  at++;
  while (at < limit && classAt(text, at) === kind) at++;
  // The last blank before a word belongs to the word.
  const beforeWord = kind === BLANK && at - start > 1 && classAt(text, at) === LETTER;
  return beforeWord && text.charCodeAt(at - 1) === SPACE ? at - 1 : at;
}

function pieceId(text: string, start: number, end: number): number {
  let hash = 0x811c9dc5;
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  const id = (hash ^ (hash >>> 15)) & 0x7fffffff;
  return id < FIRST_TEXT_TOKEN ? id + FIRST_TEXT_TOKEN : id;
}
