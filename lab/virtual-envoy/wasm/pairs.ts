// SPDX-License-Identifier: Apache-2.0
// The proxy-wasm wire form of name and value pairs: count, all sizes, then NUL-terminated bytes.
import type { HeaderPair } from "../http/header-map.ts";

const WORD_BYTES = 4;

/** Bytes that `writePairs` needs. */
export function pairsSize(pairs: readonly HeaderPair[]): number {
  let size = WORD_BYTES;
  for (const [name, value] of pairs) size += 2 * WORD_BYTES + name.length + value.length + 2;
  return size;
}

/** Writes pairs of byte strings at `start` of `target`, which has room for them. */
export function writePairs(pairs: readonly HeaderPair[], target: Buffer, start: number): void {
  let at = target.writeUInt32LE(pairs.length, start);
  for (const [name, value] of pairs) {
    at = target.writeUInt32LE(name.length, at);
    at = target.writeUInt32LE(value.length, at);
  }
  for (const pair of pairs) {
    for (const text of pair) {
      at += target.write(text, at, "latin1");
      target[at] = 0;
      at += 1;
    }
  }
}

/** Reads pairs; like Envoy, answers none when the sizes do not fit the bytes. */
export function readPairs(bytes: Buffer): HeaderPair[] {
  if (bytes.length < WORD_BYTES) return [];
  const count = bytes.readUInt32LE(0);
  let at = WORD_BYTES + count * 2 * WORD_BYTES;
  if (at > bytes.length) return [];
  const pairs: HeaderPair[] = [];
  for (let index = 0; index < count; index++) {
    const sizes = WORD_BYTES + index * 2 * WORD_BYTES;
    const nameSize = bytes.readUInt32LE(sizes);
    const valueSize = bytes.readUInt32LE(sizes + WORD_BYTES);
    if (at + nameSize + valueSize + 2 > bytes.length) return [];
    const name = bytes.toString("latin1", at, at + nameSize);
    at += nameSize + 1;
    const value = bytes.toString("latin1", at, at + valueSize);
    at += valueSize + 1;
    pairs.push([name, value]);
  }
  return pairs;
}
