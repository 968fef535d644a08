// SPDX-License-Identifier: Apache-2.0
// The first bytes of a text that a sink wants to see: kept in canonical form, decoded in place at its end.
import { BACKSLASH, LOWER_U } from "./bytes";
import { minimalCharacter, unitAt } from "./escape-reader";
import { MAX_TEXT_BYTES, Token } from "./sink";

/** `\u00xx`. */
const UNIT_BYTES: usize = 6;
/** Room to read a vector or an escape that the end of the buffer cuts. */
const SLACK_BYTES: i32 = 64;

export class KeptText {
  private readonly buffer: StaticArray<u8> = new StaticArray<u8>(MAX_TEXT_BYTES + SLACK_BYTES);
  private count: i32 = 0;

  clear(): void {
    this.count = 0;
  }

  /** Appends canonical bytes as far as there is room. */
  append(address: usize, bytes: i32): void {
    const room = MAX_TEXT_BYTES - this.count;
    const taken = min(bytes, room);
    memory.copy(changetype<usize>(this.buffer) + this.count, address, taken);
    this.count += taken;
  }

  /** Decodes in place (decoding only shortens) and points the token at the result. */
  decodeTo(token: Token): void {
    const start = changetype<usize>(this.buffer);
    const end = start + this.count;
    let from = start;
    let to = start;
    while (from < end) {
      const byte = <i32>load<u8>(from);
      if (byte != BACKSLASH) {
        store<u8>(to++, <u8>byte);
        from++;
        continue;
      }
      const isUnit = <i32>load<u8>(from, 1) == LOWER_U;
      const bytes: usize = isUnit ? UNIT_BYTES : 2;
      if (from + bytes > end) break;
      store<u8>(to++, <u8>(isUnit ? unitAt(from) : minimalCharacter(load<u8>(from, 1))));
      from += bytes;
    }
    token.text = start;
    token.textBytes = <i32>(to - start);
  }
}
