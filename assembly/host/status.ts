// SPDX-License-Identifier: Apache-2.0
// Results and constants of the proxy-wasm ABI 0.2.1 that the filter uses.

/** What a host call answers. */
export const enum Status {
  Ok = 0,
  NotFound = 1,
  BadArgument = 2,
  CasMismatch = 8,
}

/** What a request callback tells the host to do next (FilterHeadersStatus, FilterDataStatus). */
export const enum Action {
  Continue = 0,
  /** Headers: hold them; body callbacks come (needs allow_on_headers_stop_iteration). */
  StopIteration = 1,
  /** Body: hold it with back-pressure instead of a 413 at the buffer limit. */
  StopIterationAndWatermark = 2,
}

export const enum HeaderMapType {
  Request = 0,
  RequestTrailers = 1,
  Response = 2,
  ResponseTrailers = 3,
}

export const enum BufferType {
  RequestBody = 0,
  ResponseBody = 1,
  PluginConfiguration = 7,
}

export const enum StreamType {
  Request = 0,
}
