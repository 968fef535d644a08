// SPDX-License-Identifier: Apache-2.0
// A window of linear memory with the scratch around it that feeding a scanner or a reader needs.
import { WINDOW_SLACK_BYTES } from "../../assembly/json/scanner";

const WINDOW_BYTES: i32 = 1 << 16;
const WINDOW = new StaticArray<u8>(WINDOW_BYTES + 2 * WINDOW_SLACK_BYTES);

/** Puts bytes into the window, garbage around them, and returns the address of the first. */
export function intoWindow(bytes: Uint8Array, from: i32, size: i32): usize {
  const start = changetype<usize>(WINDOW) + <usize>WINDOW_SLACK_BYTES;
  memory.fill(changetype<usize>(WINDOW), 0x5c, WINDOW_SLACK_BYTES);
  memory.fill(start + size, 0x22, WINDOW_SLACK_BYTES);
  memory.copy(start, bytes.dataStart + from, size);
  return start;
}

/** UTF-8 bytes of a text. */
export function bytesOf(text: string): Uint8Array {
  return Uint8Array.wrap(String.UTF8.encode(text));
}
