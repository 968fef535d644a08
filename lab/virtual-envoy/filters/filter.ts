// SPDX-License-Identifier: Apache-2.0
// What a filter of the chain gets from its stream, and the two stages it may put into it.
import type { HeaderMap } from "../http/header-map.ts";
import type { Pipeline, Stage } from "../http/pipeline.ts";
import type { StreamInfo } from "../http/stream-info.ts";
import { DataStatus, HeadersStatus, TrailersStatus } from "../wasm/abi.ts";
import type { LocalReply } from "../wasm/guest-context.ts";

/** One guest callback of a stream, in order. */
export interface CallbackRecord {
  name: string;
  /** Arguments after the context id. */
  args: number[];
  answer: number;
  /** The VM had trapped when the callback returned. */
  failed: boolean;
}

export interface FilterStreamAccess {
  readonly info: StreamInfo;
  readonly nowUs: number;
  readonly ended: boolean;
  readonly requestHeaders: HeaderMap;
  readonly responseHeaders: HeaderMap | undefined;
  readonly responseTrailers: HeaderMap | undefined;
  readonly decoding: Pipeline;
  readonly encoding: Pipeline | undefined;
  /** Endpoint that stateful_session asks for. */
  pin: string | undefined;
  sendLocalReply(reply: LocalReply): void;
  reset(details: string): void;
  /** The VM of this stream has trapped. */
  fail(): void;
  clearRouteCache(): void;
}

export interface StreamFilter {
  decode?: Stage;
  encode?: Stage;
}

/** A stage that lets everything pass; filters override what they care about. */
export const PASSING_STAGE: Stage = {
  headers: () => HeadersStatus.Continue,
  data: () => DataStatus.Continue,
  trailers: () => TrailersStatus.Continue,
};
