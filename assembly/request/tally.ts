// SPDX-License-Identifier: Apache-2.0
// How much text there is: decoded bytes, and tokens estimated without a tokenizer.
import { Token } from "../json/sink";

/** Characters of ASCII text that make one token, as in every published rule of thumb. */
const ASCII_PER_TOKEN: u32 = 4;

/** Estimated tokens of a text. Outside ASCII a character is about one token, whatever its length in bytes. */
export function textTokens(bytes: u32, wideBytes: u32, wideCharacters: u32): u32 {
  return (bytes - wideBytes + ASCII_PER_TOKEN - 1) / ASCII_PER_TOKEN + wideCharacters;
}

export class Tally {
  bytes: u32 = 0;
  wideBytes: u32 = 0;
  wideCharacters: u32 = 0;
  /** Tokens that do not come from text: markers of templates, media. */
  extraTokens: u32 = 0;

  clear(): void {
    this.bytes = this.wideBytes = this.wideCharacters = this.extraTokens = 0;
  }

  // @ts-ignore: decorator
  @inline
  addText(token: Token): void {
    this.bytes += token.bytes;
    this.wideBytes += token.wideBytes;
    this.wideCharacters += token.wideCharacters;
  }

  copyFrom(other: Tally): void {
    this.bytes = other.bytes;
    this.wideBytes = other.wideBytes;
    this.wideCharacters = other.wideCharacters;
    this.extraTokens = other.extraTokens;
  }

  add(other: Tally): void {
    this.bytes += other.bytes;
    this.wideBytes += other.wideBytes;
    this.wideCharacters += other.wideCharacters;
    this.extraTokens += other.extraTokens;
  }

  subtract(other: Tally): void {
    this.bytes -= other.bytes;
    this.wideBytes -= other.wideBytes;
    this.wideCharacters -= other.wideCharacters;
    this.extraTokens -= other.extraTokens;
  }

  get tokens(): u32 {
    return textTokens(this.bytes, this.wideBytes, this.wideCharacters) + this.extraTokens;
  }
}
