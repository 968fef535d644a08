// SPDX-License-Identifier: Apache-2.0
// How the body of an answer is to be read, from its headers.

export enum AnswerKind {
  /** Compressed, or neither of the two below: nothing can be learned from the bytes. */
  Unknown = 0,
  EventStream = 1,
  Json = 2,
}

const EVENT_STREAM: string = "text/event-stream";
const JSON: string = "application/json";
const IDENTITY: string = "identity";

/** Kind of an answer by `content-type` and `content-encoding`; size 0 where a header is absent. */
export function answerKindOf(
  contentType: usize,
  contentTypeSize: i32,
  contentEncoding: usize,
  contentEncodingSize: i32,
): AnswerKind {
  const plain =
    contentEncodingSize == 0 ||
    (contentEncodingSize == IDENTITY.length &&
      startsWith(contentEncoding, contentEncodingSize, IDENTITY));
  if (!plain) return AnswerKind.Unknown;
  if (startsWith(contentType, contentTypeSize, EVENT_STREAM)) return AnswerKind.EventStream;
  if (startsWith(contentType, contentTypeSize, JSON)) return AnswerKind.Json;
  return AnswerKind.Unknown;
}

/** Whether bytes begin with a lower-case ASCII text, in any case. */
function startsWith(address: usize, size: i32, text: string): bool {
  if (size < text.length) return false;
  for (let i = 0; i < text.length; i++) {
    const byte = <i32>load<u8>(address + <usize>i);
    const lower = byte >= 0x41 && byte <= 0x5a ? byte | 0x20 : byte;
    if (lower != text.charCodeAt(i)) return false;
  }
  return true;
}
