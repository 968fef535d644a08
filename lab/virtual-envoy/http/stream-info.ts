// SPDX-License-Identifier: Apache-2.0
// What Envoy knows about one stream: the source of properties, of the access log and of observations.
import type { Endpoint } from "../cluster/endpoint.ts";
import type { Route } from "./route.ts";

export type Protocol = "http1" | "http2";

/** Bits of `response.flags`, as in Envoy's ResponseFlag. */
export const Flag = {
  NoHealthyUpstream: 0x2,
  UpstreamRequestTimeout: 0x4,
  UpstreamRemoteReset: 0x10,
  UpstreamConnectionFailure: 0x20,
  UpstreamConnectionTermination: 0x40,
  NoRouteFound: 0x100,
  DownstreamConnectionTermination: 0x4000,
  UpstreamRetryLimitExceeded: 0x8000,
  StreamIdleTimeout: 0x10000,
} as const;

export interface StreamInfo {
  readonly requestId: string;
  readonly connectionId: number;
  readonly protocol: Protocol;
  readonly startUs: number;
  endUs: number | undefined;
  route: Route | undefined;
  /** Endpoint of the last attempt; undefined before the router ran and on local replies without an attempt. */
  endpoint: Endpoint | undefined;
  attempts: number;
  responseCode: number | undefined;
  details: string;
  flags: number;
  requestBytes: number;
  responseBytes: number;
  /** When the upstream's response headers arrived. */
  respondedUs: number | undefined;
  transportFailure: string;
  /** Endpoints of the routed cluster, unhealthy ones included. */
  membership: (() => number | undefined) | undefined;
  /** Filter state by full key, e.g. `wasm.smetric_endpoint`. */
  readonly filterState: Map<string, Uint8Array>;
}
