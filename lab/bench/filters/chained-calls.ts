// SPDX-License-Identifier: Apache-2.0
// The filter that only calls, and what one of a row calls besides: it strips the endpoint that the one before it named.
import * as calls from "./calls";

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
  proxy_on_response_headers,
} from "./calls";

// @ts-ignore: decorator
@external("env", "proxy_remove_header_map_value")
declare function removeHeader(map: u32, name: usize, nameSize: u32): u32;

export function proxy_on_request_headers(context: u32, count: u32, ended: u32): u32 {
  const action = calls.proxy_on_request_headers(context, count, ended);
  const name = calls.NAMES[calls.NAMES.length - 1];
  removeHeader(calls.REQUEST, changetype<usize>(name), <u32>name.byteLength);
  return action;
}
