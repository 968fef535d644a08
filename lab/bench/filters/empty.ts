// SPDX-License-Identifier: Apache-2.0
// A Wasm filter that does nothing: it takes the callbacks that SDKs take, so that what they cost is not counted as work.
export {
  malloc,
  proxy_abi_version_0_2_1,
  proxy_on_configure,
  proxy_on_context_create,
  proxy_on_delete,
  proxy_on_done,
  proxy_on_log,
  proxy_on_request_body,
  proxy_on_request_headers,
  proxy_on_request_trailers,
  proxy_on_response_body,
  proxy_on_response_headers,
} from "./idle";
