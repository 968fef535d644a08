// SPDX-License-Identifier: Apache-2.0
// How much text there is: decoded bytes, and tokens estimated without a tokenizer.
import { Token } from "../json/sink";
import { WEIGHT_SHIFT } from "../json/token-sample";

/** A text that is too short for a sample: 0.3 tokens, 0.21 a byte, and more where it has escapes. */
const SHORT_TEXT: u64 = 307;
const SHORT_TEXT_BYTE: u64 = 215;
const SHORT_TEXT_ESCAPE: u64 = 614;
/** What is known of all texts weighs as much as so many sampled bytes of the usual density. */
const USUAL_BYTES: u64 = 16;
const USUAL_WEIGHT: u64 = 16 * 245;
/** Around a member of printed JSON: quotes, colon and comma make 1.4 tokens. */
const PRINTED_MEMBER: u64 = 1_434;
/** Outside ASCII: two bytes of a character are 0.31 tokens, three are 0.72, four are 1.13. */
const WIDE_BYTE: i64 = 420;
const WIDE_CHARACTER: i64 = -522;

export class Tally {
  bytes: u32 = 0;
  /** Tokens that do not come from text: markers of templates, structure, media. */
  extraTokens: u32 = 0;
  /** What the text weighs, in the unit of samples. */
  private weight: u64 = 0;

  clear(): void {
    this.bytes = this.extraTokens = 0;
    this.weight = 0;
  }

  addText(token: Token): void {
    this.bytes += token.bytes;
    this.addWeight(token);
  }

  /** Keys of printed JSON are text, too. */
  addPrintedKey(token: Token): void {
    this.bytes += token.bytes;
    this.addPrintedName(token);
  }

  /** A key that templates print although it is no content. */
  addPrintedName(token: Token): void {
    this.addWeight(token);
    this.weight += PRINTED_MEMBER;
  }

  /** A mark of printed JSON that is a token of its own. */
  addMark(): void {
    this.extraTokens++;
  }

  copyFrom(other: Tally): void {
    this.bytes = other.bytes;
    this.extraTokens = other.extraTokens;
    this.weight = other.weight;
  }

  add(other: Tally): void {
    this.bytes += other.bytes;
    this.extraTokens += other.extraTokens;
    this.weight += other.weight;
  }

  subtract(other: Tally): void {
    this.bytes -= other.bytes;
    this.extraTokens -= other.extraTokens;
    this.weight -= other.weight;
  }

  get tokens(): u32 {
    const half: u64 = (<u64>1) << (WEIGHT_SHIFT - 1);
    return <u32>((this.weight + half) >> WEIGHT_SHIFT) + this.extraTokens;
  }

  private addWeight(token: Token): void {
    const ascii = <u64>(token.bytes - token.wideBytes + token.escapes);
    this.weight += asciiWeight(ascii, token);
    if (token.wideBytes > 0) this.weight += wideWeight(token);
  }
}

/** Bytes that are no whole characters (invalid UTF-8) may seem to weigh less than nothing. */
function wideWeight(token: Token): u64 {
  const weight = WIDE_BYTE * <i64>token.wideBytes + WIDE_CHARACTER * <i64>token.wideCharacters;
  return <u64>max<i64>(weight, 0);
}

function asciiWeight(bytes: u64, token: Token): u64 {
  const sample = token.sample;
  if (sample.bytes == 0) {
    return SHORT_TEXT + bytes * SHORT_TEXT_BYTE + <u64>token.escapes * SHORT_TEXT_ESCAPE;
  }
  return (bytes * (sample.weight + USUAL_WEIGHT)) / (<u64>sample.bytes + USUAL_BYTES);
}
