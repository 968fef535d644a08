// SPDX-License-Identifier: Apache-2.0
// Feeds a recorded answer to a reader, cut in every way that a network may cut it.
import { Dialect } from "../../../assembly/request/request";
import { AnswerKind } from "../../../assembly/response/answer-kind";
import { AnswerReader } from "../../../assembly/response/answer-reader";
import { AnswerScanners } from "../../../assembly/response/answer-scanner";
import { Outcome } from "../../../assembly/response/outcome";

const scanners = new AnswerScanners();
const reader = new AnswerReader(scanners);

/** A chunk as a network hands it over: no byte around it belongs to the reader. */
function feedChunk(body: usize, size: i32): void {
  const chunk = heap.alloc(<usize>size + 2);
  store<u8>(chunk, 0xee);
  store<u8>(chunk + 1 + <usize>size, 0xee);
  memory.copy(chunk + 1, body, size);
  reader.feed(chunk + 1, size);
  assert(load<u8>(chunk) == 0xee && load<u8>(chunk + 1 + <usize>size) == 0xee);
  memory.fill(chunk, 0x58, <usize>size + 2);
  heap.free(chunk);
}

function describeOutcome(outcome: Outcome): string {
  return (
    (outcome.firstByte ? "byte " : "- ") +
    (outcome.firstToken ? "token " : "- ") +
    (outcome.complete ? "complete " : "cut ") +
    "finish=" +
    (<i32>outcome.finishReason).toString() +
    (outcome.hasUsage ? " usage=" : " none=") +
    outcome.promptTokens.toString() +
    "/" +
    outcome.cachedTokens.toString() +
    "/" +
    outcome.outputTokens.toString() +
    (outcome.responseId == 0 ? " -" : " id")
  );
}

/** Outcome of a body fed in chunks of one size (0 = whole). */
export function readBy(dialect: Dialect, kind: AnswerKind, body: string, chunkSize: i32): string {
  const bytes = String.UTF8.encode(body);
  const size = bytes.byteLength;
  const step = chunkSize == 0 ? max(1, size) : chunkSize;
  reader.reset(dialect, kind);
  for (let at = 0; at < size; at += step) {
    feedChunk(changetype<usize>(bytes) + <usize>at, min(step, size - at));
  }
  reader.finish();
  return describeOutcome(reader.outcome);
}

/** Outcome of a body fed in chunks of random sizes. */
function readByChance(dialect: Dialect, kind: AnswerKind, body: string, seed: u32): string {
  const bytes = String.UTF8.encode(body);
  const size = bytes.byteLength;
  reader.reset(dialect, kind);
  for (let at = 0; at < size;) {
    seed = seed * 1664525 + 1013904223;
    const step = min(size - at, 1 + <i32>((seed >> 16) % 90));
    feedChunk(changetype<usize>(bytes) + <usize>at, step);
    at += step;
  }
  reader.finish();
  return describeOutcome(reader.outcome);
}

/** The outcome of a body; a note instead if the way it is cut can be seen. */
export function read(dialect: Dialect, kind: AnswerKind, body: string): string {
  const whole = readBy(dialect, kind, body, 0);
  const sizes: StaticArray<i32> = [1, 2, 3, 7, 64];
  for (let i = 0; i < sizes.length; i++) {
    const cut = readBy(dialect, kind, body, sizes[i]);
    if (cut != whole) return whole + " but by " + sizes[i].toString() + ": " + cut;
  }
  for (let seed: u32 = 1; seed <= 40; seed++) {
    const cut = readByChance(dialect, kind, body, seed);
    if (cut != whole) return whole + " but by chance " + seed.toString() + ": " + cut;
  }
  return whole;
}

export { reader };
