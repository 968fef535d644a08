// SPDX-License-Identifier: Apache-2.0
// From the text of a header or body field to the hash of a session id, or to nothing.
import { fold } from "../hash/mix";
import { IdForm } from "./session-fields";

/** Longer ids are ignored: no client has them, and they cost. */
export const MAX_ID_BYTES: i32 = 256;

const SPACE: u8 = 0x20;
const DELETE: u8 = 0x7f;
const TAB: u8 = 0x09;
const QUOTE: u8 = 0x22;
const OPEN_BRACE: u8 = 0x7b;
const UNDERSCORE: u8 = 0x5f;
const ID: u64 = 0x629a292a367cd507;

/** Hash of the id in a text, 0 if there is none: empty, too long, or with control characters. */
export function idHash(address: usize, bytes: i32, form: IdForm): u64 {
  let start = address;
  let end = address + bytes;
  while (start < end && isBlank(load<u8>(start))) start++;
  while (end > start && isBlank(load<u8>(end - 1))) end--;
  if (form == IdForm.ClaudeUser) {
    const id =
      load<u8>(start) == OPEN_BRACE ? behindSessionKey(start, end) : behindMarker(start, end);
    if (id == 0) return 0;
    start = id;
    end = idEnd(start, end);
  }
  if (form == IdForm.Lineage) end = lineageEnd(start, end);
  const size = <i32>(end - start);
  if (size == 0 || size > MAX_ID_BYTES) return 0;
  let hash = fold(ID, size);
  let word: u64 = 0;
  for (let i = 0; i < size; i++) {
    const byte = load<u8>(start + i);
    if (byte < SPACE || byte == DELETE) return 0;
    word = (word << 8) | byte;
    if ((i & 7) == 7) {
      hash = fold(hash, word);
      word = 0;
    }
  }
  return fold(hash, word);
}

function isBlank(byte: u8): bool {
  return byte == SPACE || byte == TAB;
}

const SESSION_MARKER = String.UTF8.encode("_session_");
const SESSION_KEY = String.UTF8.encode('"session_id"');

/** Address behind the last `_session_`, or 0. */
function behindMarker(start: usize, end: usize): usize {
  const size = SESSION_MARKER.byteLength;
  for (let p = end; p >= start + size; p--) {
    if (memory.compare(p - size, changetype<usize>(SESSION_MARKER), size) == 0) return p;
  }
  return 0;
}

/** Address of the text behind `"session_id":` in a JSON object of plain texts, or 0. */
function behindSessionKey(start: usize, end: usize): usize {
  const size = SESSION_KEY.byteLength;
  for (let p = start; p + size < end; p++) {
    if (memory.compare(p, changetype<usize>(SESSION_KEY), size) != 0) continue;
    p += size;
    while (p < end && load<u8>(p) != QUOTE) p++;
    return p < end ? p + 1 : 0;
  }
  return 0;
}

function idEnd(start: usize, end: usize): usize {
  let p = start;
  while (p < end && load<u8>(p) != QUOTE) p++;
  return p;
}

/** End without suffixes like `_t2` and `_r1`. */
function lineageEnd(start: usize, end: usize): usize {
  while (true) {
    let p = end;
    while (p > start && isDigit(load<u8>(p - 1))) p--;
    const isSuffix =
      p < end && p > start + 2 && isCounter(load<u8>(p - 1)) && load<u8>(p - 2) == UNDERSCORE;
    if (!isSuffix) return end;
    end = p - 2;
  }
}

function isDigit(byte: u8): bool {
  return byte >= 0x30 && byte <= 0x39;
}

/** `t` for turns, `r` for retries. */
function isCounter(byte: u8): bool {
  return byte == 0x74 || byte == 0x72;
}
