// SPDX-License-Identifier: Apache-2.0
// How much text there is: decoded bytes, and tokens estimated without a tokenizer.
import { Token } from "../json/sink";

/** Characters of ASCII text to a token are 4.6: fitted to prose, code and JSON with a 200k vocabulary. */
const ASCII_TOKENS: u32 = 5;
const ASCII_CHARACTERS: u32 = 23;
/** Line breaks and quotes make tokens of their own, in four cases of five. */
const ESCAPE_TOKENS: u32 = 4;
const ESCAPES: u32 = 5;
/** Quotes, colon and comma around a member of printed JSON. */
const PRINTED_MEMBER_TOKENS: u32 = 3;

export class Tally {
  bytes: u32 = 0;
  wideBytes: u32 = 0;
  wideCharacters: u32 = 0;
  escapes: u32 = 0;
  /** Tokens that do not come from text: markers of templates, structure, media. */
  extraTokens: u32 = 0;

  clear(): void {
    this.bytes = this.wideBytes = this.wideCharacters = this.escapes = this.extraTokens = 0;
  }

  // @ts-ignore: decorator
  @inline
  addText(token: Token): void {
    this.bytes += token.bytes;
    this.wideBytes += token.wideBytes;
    this.wideCharacters += token.wideCharacters;
    this.escapes += token.escapes;
  }

  /** Keys of printed JSON are text, too. */
  addPrintedKey(token: Token): void {
    this.addText(token);
    this.extraTokens += PRINTED_MEMBER_TOKENS;
  }

  copyFrom(other: Tally): void {
    this.bytes = other.bytes;
    this.wideBytes = other.wideBytes;
    this.wideCharacters = other.wideCharacters;
    this.escapes = other.escapes;
    this.extraTokens = other.extraTokens;
  }

  add(other: Tally): void {
    this.bytes += other.bytes;
    this.wideBytes += other.wideBytes;
    this.wideCharacters += other.wideCharacters;
    this.escapes += other.escapes;
    this.extraTokens += other.extraTokens;
  }

  subtract(other: Tally): void {
    this.bytes -= other.bytes;
    this.wideBytes -= other.wideBytes;
    this.wideCharacters -= other.wideCharacters;
    this.escapes -= other.escapes;
    this.extraTokens -= other.extraTokens;
  }

  get tokens(): u32 {
    const ascii = this.bytes - this.wideBytes;
    const ofAscii = <u32>((<u64>ascii * ASCII_TOKENS + ASCII_CHARACTERS - 1) / ASCII_CHARACTERS);
    // Outside ASCII a character is about one token, whatever its length in bytes.
    return (
      ofAscii + this.wideCharacters + (this.escapes * ESCAPE_TOKENS) / ESCAPES + this.extraTokens
    );
  }
}
