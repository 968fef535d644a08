// SPDX-License-Identifier: Apache-2.0
// The native Envoy filters that stand beside the Wasm filter: buffer, header_mutation, stateful_session.
import { DataStatus, HeadersStatus } from "../wasm/abi.ts";
import { PASSING_STAGE, type FilterStreamAccess, type StreamFilter } from "./filter.ts";

/** envoy.filters.http.buffer: holds headers and body until the end, raises the stream's limit. */
export function bufferFilter(stream: FilterStreamAccess, maxRequestBytes: number): StreamFilter {
  let sizeBytes = 0;
  return {
    decode: {
      ...PASSING_STAGE,
      headers(_headers, end) {
        if (end) return HeadersStatus.Continue;
        stream.decoding.limitBytes = maxRequestBytes;
        return HeadersStatus.StopIteration;
      },
      data(data, end) {
        sizeBytes += data.length;
        if (!end) return DataStatus.StopIterationAndBuffer;
        const headers = stream.requestHeaders;
        if (!headers.has("content-length")) headers.set("content-length", String(sizeBytes));
        return DataStatus.Continue;
      },
    },
  };
}

/** `header` gets the value of filter state `key`; when that is unset no header is written. */
export interface HeaderMutation {
  header: string;
  filterStateKey: string;
}

/** envoy.filters.http.header_mutation with OVERWRITE_IF_EXISTS_OR_ADD; it leaves the route cache alone. */
export function headerMutationFilter(
  stream: FilterStreamAccess,
  mutations: readonly HeaderMutation[],
): StreamFilter {
  return {
    decode: {
      ...PASSING_STAGE,
      headers(headers) {
        for (const { header, filterStateKey } of mutations) {
          const value = stream.info.filterState.get(filterStateKey);
          if (value !== undefined) headers.set(header, Buffer.from(value).toString("latin1"));
        }
        return HeadersStatus.Continue;
      },
    },
  };
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** envoy.filters.http.stateful_session in header mode: base64 of `ip:port`, not strict. */
export function statefulSessionFilter(stream: FilterStreamAccess, header: string): StreamFilter {
  let wanted: string | undefined;
  return {
    decode: {
      ...PASSING_STAGE,
      headers(headers) {
        const value = headers.get(header);
        if (value !== undefined && value !== "" && BASE64.test(value)) {
          wanted = Buffer.from(value, "base64").toString("latin1");
          stream.pin = wanted;
        }
        return HeadersStatus.Continue;
      },
    },
    encode: {
      ...PASSING_STAGE,
      headers(headers) {
        const served = stream.info.endpoint?.address;
        if (served !== undefined && served !== wanted) {
          headers.set(header, Buffer.from(served, "latin1").toString("base64"));
        }
        return HeadersStatus.Continue;
      },
    },
  };
}
