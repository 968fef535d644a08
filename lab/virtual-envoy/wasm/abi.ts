// SPDX-License-Identifier: Apache-2.0
// Numbers of the proxy-wasm ABI 0.2.1, as Envoy's host uses them.

/** What a host call answers. */
export const Status = {
  Ok: 0,
  NotFound: 1,
  BadArgument: 2,
  SerializationFailure: 3,
  ParseFailure: 4,
  InvalidMemoryAccess: 6,
  Empty: 7,
  CasMismatch: 8,
  InternalFailure: 10,
  BrokenConnection: 11,
  Unimplemented: 12,
} as const;

export type Status = (typeof Status)[keyof typeof Status];

export const MapType = {
  RequestHeaders: 0,
  RequestTrailers: 1,
  ResponseHeaders: 2,
  ResponseTrailers: 3,
  HttpCallResponseHeaders: 6,
  HttpCallResponseTrailers: 7,
} as const;

export const BufferType = {
  RequestBody: 0,
  ResponseBody: 1,
  HttpCallResponseBody: 4,
  VmConfiguration: 6,
  PluginConfiguration: 7,
} as const;

export const StreamType = { Request: 0, Response: 1, Downstream: 2, Upstream: 3 } as const;

export const MetricType = { Counter: 0, Gauge: 1, Histogram: 2 } as const;

/** What a headers callback answers the filter manager. */
export const HeadersStatus = {
  Continue: 0,
  StopIteration: 1,
  StopAllIterationAndBuffer: 3,
  StopAllIterationAndWatermark: 4,
} as const;

export type HeadersStatus = (typeof HeadersStatus)[keyof typeof HeadersStatus];

/** What a body callback answers the filter manager. */
export const DataStatus = {
  Continue: 0,
  StopIterationAndBuffer: 1,
  StopIterationAndWatermark: 2,
  StopIterationNoBuffer: 3,
} as const;

export type DataStatus = (typeof DataStatus)[keyof typeof DataStatus];

export const TrailersStatus = { Continue: 0, StopIteration: 1 } as const;

export type TrailersStatus = (typeof TrailersStatus)[keyof typeof TrailersStatus];

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "critical"] as const;

export type LogLevel = (typeof LOG_LEVELS)[number];
