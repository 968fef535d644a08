// SPDX-License-Identifier: Apache-2.0
// The filter that only calls, and what one of a row calls besides: it strips what the one before it wrote, and asks who
// answered, since the last one's pin was obeyed.
import * as calls from "./calls";
import { CONTINUE } from "./idle";

export {
  malloc,
  proxy_abi_version_0_2_1,
  proxy_on_configure,
  proxy_on_context_create,
  proxy_on_delete,
  proxy_on_done,
  proxy_on_log,
  proxy_on_request_body,
  proxy_on_request_trailers,
  proxy_on_response_body,
} from "./calls";

// @ts-ignore: decorator
@external("env", "proxy_remove_header_map_value")
declare function removeHeader(map: u32, name: usize, nameSize: u32): u32;
// @ts-ignore: decorator
@external("env", "proxy_get_property")
declare function getProperty(path: usize, pathSize: u32, at: usize, sizeAt: usize): u32;

const outAddress: usize = memory.data(8);
const outSize: usize = memory.data(8);

const ADDRESS = String.UTF8.encode("upstream\0address");

export function proxy_on_request_headers(context: u32, count: u32, ended: u32): u32 {
  const action = calls.proxy_on_request_headers(context, count, ended);
  for (let i = 0; i < calls.NAMES.length; i++) {
    const name = calls.NAMES[i];
    removeHeader(calls.REQUEST, changetype<usize>(name), <u32>name.byteLength);
  }
  return action;
}

export function proxy_on_response_headers(context: u32, count: u32, ended: u32): u32 {
  calls.proxy_on_response_headers(context, count, ended);
  getProperty(changetype<usize>(ADDRESS), <u32>ADDRESS.byteLength, outAddress, outSize);
  return CONTINUE;
}
