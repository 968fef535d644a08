// SPDX-License-Identifier: Apache-2.0
// What the name of a server-sent event says about its data, so that most data need not be looked at.

export enum EventHint {
  /** No name, or one that says nothing. */
  None = 0,
  /** Generated tokens: passed over. */
  Tokens = 1,
  /** Neither tokens nor anything to learn. */
  Idle = 2,
  /** Begin or end of the answer: to be scanned. */
  Telling = 3,
}

/** Hint of an event name of Messages or Responses. */
export function eventHintOf(start: usize, size: i32): EventHint {
  if (equals(start, size, "message_delta") || equals(start, size, "message_start")) {
    return EventHint.Telling;
  }
  if (endsWith(start, size, "delta")) return EventHint.Tokens;
  if (equals(start, size, "ping") || startsWith(start, size, "content_block_")) {
    return EventHint.Idle;
  }
  if (!startsWith(start, size, "response.")) return EventHint.None;
  const telling =
    endsWith(start, size, ".created") ||
    endsWith(start, size, "completed") ||
    endsWith(start, size, ".failed");
  return telling || endsWith(start, size, ".incomplete") ? EventHint.Telling : EventHint.Idle;
}

function equals(start: usize, size: i32, text: string): bool {
  return size == text.length && startsWith(start, size, text);
}

function startsWith(start: usize, size: i32, text: string): bool {
  if (size < text.length) return false;
  for (let i = 0; i < text.length; i++) {
    if (<i32>load<u8>(start + <usize>i) != text.charCodeAt(i)) return false;
  }
  return true;
}

function endsWith(start: usize, size: i32, text: string): bool {
  return size >= text.length && startsWith(start + <usize>(size - text.length), text.length, text);
}
