// SPDX-License-Identifier: Apache-2.0
// The shipped filter with a clock around each of its callbacks; now and then it logs what they took.
import * as filter from "../../../assembly/index";
import { logWarn } from "../../../assembly/host/log";
import { Action } from "../../../assembly/host/status";
import { nowNs } from "../../../assembly/host/streams";

export {
  malloc,
  proxy_abi_version_0_2_1,
  proxy_on_configure,
  proxy_on_context_create,
  proxy_on_request_trailers,
  proxy_on_tick,
  proxy_on_vm_start,
} from "../../../assembly/index";

enum Callback {
  RequestHeaders,
  RequestBody,
  ResponseHeaders,
  ResponseBody,
  End,
}

const CALLBACKS: i32 = 5;
/** Streams between two lines of the log. */
const STREAMS: i32 = 200;
/** A callback that took longer was interrupted. */
const INTERRUPTED_NS: u64 = 100_000;

const sumsNs = new StaticArray<u64>(CALLBACKS);
let streams: i32 = 0;

function note(callback: Callback, sinceNs: u64): void {
  const ns = nowNs() - sinceNs;
  if (ns < INTERRUPTED_NS) sumsNs[callback] += ns;
}

export function proxy_on_request_headers(contextId: u32, count: u32, ended: u32): Action {
  const since = nowNs();
  const action = filter.proxy_on_request_headers(contextId, count, ended);
  note(Callback.RequestHeaders, since);
  return action;
}

export function proxy_on_request_body(contextId: u32, size: u32, ended: u32): Action {
  const since = nowNs();
  const action = filter.proxy_on_request_body(contextId, size, ended);
  note(Callback.RequestBody, since);
  return action;
}

export function proxy_on_response_headers(contextId: u32, count: u32, ended: u32): Action {
  const since = nowNs();
  const action = filter.proxy_on_response_headers(contextId, count, ended);
  note(Callback.ResponseHeaders, since);
  return action;
}

export function proxy_on_response_body(contextId: u32, size: u32, ended: u32): Action {
  const since = nowNs();
  const action = filter.proxy_on_response_body(contextId, size, ended);
  note(Callback.ResponseBody, since);
  return action;
}

export function proxy_on_log(contextId: u32): void {
  const since = nowNs();
  filter.proxy_on_log(contextId);
  note(Callback.End, since);
}

export function proxy_on_delete(contextId: u32): void {
  const since = nowNs();
  filter.proxy_on_delete(contextId);
  note(Callback.End, since);
  if (++streams == STREAMS) report();
}

function report(): void {
  const means: string[] = [];
  for (let i = 0; i < CALLBACKS; i++) {
    means.push((sumsNs[i] / <u64>STREAMS).toString());
    sumsNs[i] = 0;
  }
  streams = 0;
  logWarn("callbacks " + means.join(" "));
}
