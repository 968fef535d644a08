// SPDX-License-Identifier: Apache-2.0
// Reads request bodies for specs, and asks what two of them share.
import { HeaderRules } from "../../../assembly/request/header-rules";
import { classifyPath, PathKind } from "../../../assembly/request/paths";
import { RequestReader } from "../../../assembly/request/reader";
import { Request } from "../../../assembly/request/request";
import { bytesOf, intoWindow } from "../window";

export const CHAT = "/v1/chat/completions";
export const RESPONSES = "/v1/responses";
export const MESSAGES = "/v1/messages";
export const COMPLETIONS = "/v1/completions";

/** Two calls of one answer, and their results. */
export const CALLS =
  '{"role":"assistant","content":null,"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}},{"id":"b","function":{"name":"g","arguments":"{}"}}]}';
export const RESULTS =
  '{"role":"tool","tool_call_id":"a","content":"1"},{"role":"tool","tool_call_id":"b","content":"2"}';

/** No boundary in common. */
export const NOTHING: i32 = -1;

const WINDOW_BYTES: i32 = 1 << 16;
const reader = new RequestReader();

export function pathKind(path: string): PathKind {
  const bytes = String.UTF8.encode(path);
  return classifyPath(changetype<usize>(bytes), bytes.byteLength);
}

export class Reading {
  path: string = CHAT;
  tenant: u64 = 7;
  skipNonce: bool = true;
  headers: string[] = [];
  rules: HeaderRules = new HeaderRules();

  header(name: string, value: string): Reading {
    this.headers.push(name);
    this.headers.push(value);
    return this;
  }

  /** Reads a body; of one that is cut, what is known by then. */
  read(body: string, finish: bool = true): Request {
    return this.readBytes(bytesOf(body), finish);
  }

  readBytes(body: Uint8Array, finish: bool = true): Request {
    const request = new Request();
    for (let i = 0; i < this.headers.length; i += 2) this.take(request, i);
    reader.reset(this.tenant, pathKind(this.path), this.skipNonce);
    for (let at = 0; at < body.length; at += WINDOW_BYTES) {
      const size = min(WINDOW_BYTES, body.length - at);
      reader.feed(intoWindow(body, at, size), size);
    }
    if (finish) reader.finish();
    reader.answer(request);
    return request;
  }

  private take(request: Request, at: i32): void {
    // The hash of a name reads in whole blocks.
    const name = bytesOf(this.headers[at] + " ".repeat(64));
    const value = bytesOf(this.headers[at + 1] + " ");
    request.identity.header(
      this.rules,
      name.dataStart,
      this.headers[at].length,
      value.dataStart,
      value.length - 1,
    );
  }
}

export function readChat(body: string): Request {
  return new Reading().read(body);
}

export function readOn(path: string, body: string): Request {
  const reading = new Reading();
  reading.path = path;
  return reading.read(body);
}

/** A chat body of these items. */
export function chat(items: string, more: string = ""): string {
  return '{"model":"m","messages":[' + items + "]" + more + "}";
}

export function user(text: string): string {
  return '{"role":"user","content":' + quoted(text) + "}";
}

export function assistant(text: string): string {
  return '{"role":"assistant","content":' + quoted(text) + "}";
}

export function system(text: string): string {
  return '{"role":"system","content":' + quoted(text) + "}";
}

function quoted(text: string): string {
  return '"' + text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n") + '"';
}

/** Chain at the end of the list. */
export function endChain(request: Request): u64 {
  const count = request.boundaryCount;
  return count > 0 ? request.boundaries[count - 1].chain : 0;
}

/** Runs before the deepest boundary of `next` that is the end of `served` or one of its boundaries. */
export function deepestShared(next: Request, served: Request): i32 {
  for (let i = next.boundaryCount - 1; i >= 0; i--) {
    for (let k = 0; k < served.boundaryCount; k++) {
      if (next.boundaries[i].chain == served.boundaries[k].chain) return next.boundaries[i].runs;
    }
  }
  return NOTHING;
}

/** Whether `next` sends back `served` before its last run, as a follow-up does. */
export function followsUp(next: Request, served: Request): bool {
  const end = endChain(served);
  for (let i = 0; i < next.boundaryCount; i++) {
    if (next.boundaries[i].chain == end && next.boundaries[i].runs + 1 == served.turn) return true;
  }
  return false;
}

/** Tokens of the head that two requests have in common, counted in pieces. */
export function commonHeadTokens(a: Request, b: Request): u32 {
  let tokens: u32 = 0;
  const pieces = min(a.headPieceCount, b.headPieceCount);
  for (let i = 0; i < pieces && a.headPieces[i] == b.headPieces[i]; i++) {
    tokens = a.headPieceTokens[i];
  }
  return tokens;
}
