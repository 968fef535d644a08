// SPDX-License-Identifier: Apache-2.0
// The request reader alone as a module: for benches and tests that feed it from TypeScript.
import { HeaderRules } from "../../../assembly/request/header-rules";
import { sourceName } from "../../../assembly/request/identity";
import { classifyPath } from "../../../assembly/request/paths";
import { RequestReader } from "../../../assembly/request/reader";
import { Request } from "../../../assembly/request/request";
import { backslashMask, escapedMask, quoteMask } from "../../../assembly/json/masks";
import { WINDOW_SLACK_BYTES } from "../../../assembly/json/scanner";

const WINDOW_BYTES: i32 = 64 * 1024;
const buffer = new StaticArray<u8>(WINDOW_BYTES + 2 * WINDOW_SLACK_BYTES);
const reader = new RequestReader();
const request = new Request();
const rules = new HeaderRules();

/** Where the next bytes go, at most `windowBytes()` of them. */
export function window(): usize {
  return changetype<usize>(buffer) + <usize>WINDOW_SLACK_BYTES;
}

export function windowBytes(): i32 {
  return WINDOW_BYTES;
}

/** The path lies in the window. */
export function reset(tenant: u64, pathBytes: i32): i32 {
  const kind = classifyPath(window(), pathBytes);
  request.identity.reset();
  reader.reset(tenant, kind);
  return kind;
}

/** Name and value lie one after the other in the window. */
export function header(nameBytes: i32, valueBytes: i32): void {
  request.identity.header(rules, window(), nameBytes, window() + nameBytes, valueBytes);
}

export function feed(bytes: i32): i32 {
  return reader.feed(window(), bytes);
}

export function finish(): i32 {
  return reader.finish();
}

export function answer(): void {
  reader.answer(request);
}

export function dialect(): i32 {
  return request.dialect;
}
export function reading(): i32 {
  return request.reading;
}
export function turn(): i32 {
  return request.turn;
}
export function items(): i32 {
  return request.items;
}
export function lastModelEndByte(): i32 {
  return request.lastModelEndByte;
}
export function ambiguous(): bool {
  return request.ambiguous;
}
export function openRun(): bool {
  return request.openRun;
}
export function head(): u64 {
  return request.head;
}
export function headBytes(): u32 {
  return request.headBytes;
}
export function headTokens(): u32 {
  return request.headTokens;
}
export function model(): u64 {
  return request.model;
}
export function promptBytes(): u32 {
  return request.promptBytes;
}
export function promptTokens(): u32 {
  return request.promptTokens;
}
export function session(): u64 {
  return request.session;
}
export function program(): u64 {
  return request.program;
}
export function historyHeld(): bool {
  return request.historyHeld;
}
/** Writes the name of the session source into the window. */
export function sessionSourceBytes(): i32 {
  const name = String.UTF8.encode(sourceName(request.sessionSource, rules));
  memory.copy(window(), changetype<usize>(name), name.byteLength);
  return name.byteLength;
}
export function headPieceCount(): i32 {
  return request.headPieceCount;
}
export function headPiece(at: i32): u64 {
  return request.headPieces[at];
}
export function headPieceTokens(at: i32): u32 {
  return request.headPieceTokens[at];
}
export function boundaryCount(): i32 {
  return request.boundaryCount;
}
export function chain(at: i32): u64 {
  return request.boundaries[at].chain;
}
export function runs(at: i32): i32 {
  return request.boundaries[at].runs;
}
export function prefixBytes(at: i32): u32 {
  return request.boundaries[at].prefixBytes;
}
export function prefixTokens(at: i32): u32 {
  return request.boundaries[at].prefixTokens;
}
export function afterRunBytes(at: i32): u32 {
  return request.boundaries[at].afterRunBytes;
}

/**
 * The least that any scan costs, as a yardstick for this machine: masks of quotes and escapes over the window.
 * @returns something that depends on every byte
 */
export function maskPass(bytes: i32): u64 {
  let found: u64 = 0;
  let escaped: u64 = 0;
  const start = window();
  for (let at = 0; at + 64 <= bytes; at += 64) {
    const a = v128.load(start + at);
    const b = v128.load(start + at, 16);
    const c = v128.load(start + at, 32);
    const d = v128.load(start + at, 48);
    const backslashes = backslashMask(a, b, c, d);
    const letters = escapedMask(backslashes, escaped);
    escaped = (backslashes & ~letters) >>> 63;
    found += quoteMask(a, b, c, d) & ~letters;
  }
  return found;
}
