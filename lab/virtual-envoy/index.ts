// SPDX-License-Identifier: Apache-2.0
// The virtual Envoy's public face: what tests, `inspect` and the virtual-time replay import.
export { VirtualClock } from "./clock.ts";
export { Cluster, type BalancingPolicy, type ClusterOptions } from "./cluster/cluster.ts";
export { Endpoint, type EndpointOptions } from "./cluster/endpoint.ts";
export type { CallbackRecord } from "./filters/filter.ts";
export { HeaderMap, type HeaderInput } from "./http/header-map.ts";
export type { Ending, Observation } from "./http/observation.ts";
export { DEFAULT_RETRY, type RetryPolicy, type Route } from "./http/route.ts";
export { Stream, type ResponseInput, type StreamLimits } from "./http/stream.ts";
export { UpstreamRequest } from "./http/upstream-request.ts";
export {
  type ChainFilter,
  type ChainName,
  type FailurePolicy,
  type OpenOptions,
  type RequestOptions,
  type UpstreamHandler,
  type VirtualEnvoyOptions,
} from "./options.ts";
export { VirtualEnvoy } from "./virtual-envoy.ts";
export { LoadFailure, type LogLine, type SideCall, type SideCallAnswer } from "./wasm/wasm-vm.ts";
