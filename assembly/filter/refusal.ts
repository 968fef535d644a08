// SPDX-License-Identifier: Apache-2.0
// The one answer that the filter gives itself: 429, when admission has no place left to wait in.
import { answerLocally } from "../host/streams";
import { HostText } from "../host/text";

const TOO_MANY: u32 = 429;
const RETRY_AFTER = "retry-after";
/** Seconds: long enough for sessions to end, short enough for an SDK's own retry. */
const RETRY_AFTER_SECONDS = "5";

const details = new HostText("smetric_admission_refused");
const body = new HostText(
  '{"error":{"message":"no room for a new session, retry later","type":"overloaded","code":429}}',
);
const headers = serialise(RETRY_AFTER, RETRY_AFTER_SECONDS);

export function refuseRequest(): void {
  answerLocally(TOO_MANY, details, body, changetype<usize>(headers), <u32>headers.byteLength);
}

/** One header in the form of a serialised map: count, sizes, then both texts, each ended by a zero. */
function serialise(name: string, value: string): ArrayBuffer {
  const nameSize = String.UTF8.byteLength(name);
  const valueSize = String.UTF8.byteLength(value);
  const pairs = new ArrayBuffer(14 + nameSize + valueSize);
  const start = changetype<usize>(pairs);
  store<u32>(start, 1);
  store<u32>(start, <u32>nameSize, 4);
  store<u32>(start, <u32>valueSize, 8);
  String.UTF8.encodeUnsafe(changetype<usize>(name), name.length, start + 12);
  String.UTF8.encodeUnsafe(changetype<usize>(value), value.length, start + 13 + nameSize);
  return pairs;
}
