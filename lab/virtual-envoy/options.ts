// SPDX-License-Identifier: Apache-2.0
// How a virtual Envoy is configured: the bootstrap in one object.
import type { ClusterOptions } from "./cluster/cluster.ts";
import type { EndpointOptions } from "./cluster/endpoint.ts";
import type { HeaderMutation } from "./filters/native-filters.ts";
import type { HeaderInput } from "./http/header-map.ts";
import type { Route } from "./http/route.ts";
import type { ResponseInput, Stream, StreamLimits } from "./http/stream.ts";
import type { Protocol } from "./http/stream-info.ts";
import type { UpstreamRequest } from "./http/upstream-request.ts";
import type { Status } from "./wasm/abi.ts";
import type { LogLine, SideCall, SideCallAnswer } from "./wasm/wasm-vm.ts";

export type FailurePolicy = "fail_closed" | "fail_open" | "fail_reload";

/** Filters of the HTTP chain in decoding order; the router always ends it. */
export type ChainFilter =
  | { name: "wasm" }
  | { name: "buffer"; maxRequestBytes: number }
  | { name: "header_mutation"; mutations: HeaderMutation[] }
  | { name: "stateful_session"; header: string };

/** The three chains that the design names, and what goes without stateful_session. */
export type ChainName = "pin" | "pin_buffered" | "filter_state" | "wasm_only";

/** Endpoints in virtual time: called when a request reaches one, is complete, or is given up. */
export interface UpstreamHandler {
  started?(stream: Stream): void;
  ended?(stream: Stream): void;
  cancelled?(stream: Stream, upstream: UpstreamRequest): void;
}

/** Bytes, a status such as 1 (absent), or undefined: as Envoy would answer. */
export type PropertyAnswer = Uint8Array | Status | undefined;

export interface VirtualEnvoyOptions {
  /** Path of the compiled module, or its bytes. */
  wasm: string | Uint8Array;
  /** Plugin configuration: an object is sent as JSON. */
  configuration?: unknown;
  /** `--concurrency`; default 1. */
  workers?: number;
  /** PluginConfig.allow_on_headers_stop_iteration; default true. */
  flag?: boolean;
  failurePolicy?: FailurePolicy;
  vmId?: string;
  rootId?: string;
  pluginName?: string;
  /** Endpoints of the one cluster `llm`; or give `clusters`. */
  endpoints?: (string | EndpointOptions)[];
  clusters?: ClusterOptions[];
  /** Default: everything goes to the first cluster. */
  routes?: (Partial<Route> & { cluster: string })[];
  /** Default "pin". */
  chain?: ChainName | ChainFilter[];
  limits?: Partial<StreamLimits>;
  seed?: number;
  /** Microseconds since the epoch at which virtual time starts. */
  startUs?: number;
  /** Records every guest callback of every stream; default true. */
  trace?: boolean;
  /** Keeps request and response bodies for observations; default true. */
  keepBodies?: boolean;
  /** Counts host calls by name in `VirtualEnvoy.hostCalls`; default false. */
  countHostCalls?: boolean;
  /** Odd hosts: another answer to a property look-up, or undefined for the usual one. */
  property?(path: string): PropertyAnswer;
  upstream?: UpstreamHandler;
  onLog?(line: LogLine): void;
  /** Answers side calls; undefined means the cluster is unknown. */
  sideCall?(call: SideCall): SideCallAnswer | undefined;
}

/** Head of a request. */
export interface OpenOptions {
  method?: string;
  path?: string;
  authority?: string;
  headers?: HeaderInput;
  /** Connections stick to a worker; requests without a name get one of their own. */
  connection?: string | number;
  /** Forces the worker of a new connection. */
  worker?: number;
  protocol?: Protocol;
  /** No body follows. */
  end?: boolean;
}

/** A whole exchange. */
export interface RequestOptions extends OpenOptions {
  body?: Uint8Array | string;
  /** The body as separate arrivals instead of one. */
  chunks?: (Uint8Array | string)[];
  trailers?: HeaderInput;
  /** Adds content-length when there is a body; default true without `chunks`. */
  contentLength?: boolean;
  /** HTTP/2 with END_STREAM on the last DATA frame instead of an empty one. */
  endOnLastFrame?: boolean;
  /** What the endpoint answers once it has the whole request; false leaves it to the test. */
  response?: ResponseOption;
}

export type ResponseOption = ResponseInput | false;

export const DEFAULT_LIMITS: StreamLimits = {
  connectionBytes: 1024 * 1024,
  http2WindowBytes: 16 * 1024 * 1024,
  streamIdleTimeoutMs: 300_000,
};

const BUFFERED_BYTES = 16 * 1024 * 1024;
const PIN_HEADER = "x-smetric-endpoint";

const CHAINS: Record<ChainName, ChainFilter[]> = {
  pin: [{ name: "wasm" }, { name: "stateful_session", header: PIN_HEADER }],
  pin_buffered: [
    { name: "buffer", maxRequestBytes: BUFFERED_BYTES },
    { name: "wasm" },
    { name: "stateful_session", header: PIN_HEADER },
  ],
  filter_state: [
    { name: "wasm" },
    { name: "buffer", maxRequestBytes: BUFFERED_BYTES },
    {
      name: "header_mutation",
      mutations: [{ header: PIN_HEADER, filterStateKey: "wasm.smetric_endpoint" }],
    },
    { name: "stateful_session", header: PIN_HEADER },
  ],
  wasm_only: [{ name: "wasm" }],
};

/** Filters of a chain given by name or in full. */
export function chainOf(chain: ChainName | ChainFilter[] | undefined): ChainFilter[] {
  return Array.isArray(chain) ? chain : CHAINS[chain ?? "pin"];
}
