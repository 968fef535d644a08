// SPDX-License-Identifier: Apache-2.0
// A Wasm filter that holds each request and copies its body through a window, without looking at it.
import { CAPACITY, CONTINUE } from "./idle";

export {
  malloc,
  proxy_abi_version_0_2_1,
  proxy_on_configure,
  proxy_on_context_create,
  proxy_on_delete,
  proxy_on_done,
  proxy_on_log,
  proxy_on_request_trailers,
  proxy_on_response_body,
  proxy_on_response_headers,
} from "./idle";

// @ts-ignore: decorator
@external("env", "proxy_get_buffer_bytes")
declare function getBufferBytes(kind: u32, start: u32, size: u32, at: usize, sizeAt: usize): u32;

const outAddress: usize = memory.data(8);
const outSize: usize = memory.data(8);

const REQUEST_BODY: u32 = 0;
const STOP_ITERATION: u32 = 1;
const STOP_AND_WATERMARK: u32 = 2;

export function proxy_on_request_headers(_context: u32, _count: u32, ended: u32): u32 {
  return ended != 0 ? CONTINUE : STOP_ITERATION;
}

export function proxy_on_request_body(_context: u32, size: u32, ended: u32): u32 {
  for (let start: u32 = 0; start < size; start += CAPACITY) {
    getBufferBytes(REQUEST_BODY, start, min(CAPACITY, size - start), outAddress, outSize);
  }
  return ended != 0 ? CONTINUE : STOP_AND_WATERMARK;
}
