// SPDX-License-Identifier: Apache-2.0
// Properties (attributes) of a stream in the byte forms in which Envoy hands them to a guest.
import { Status } from "../wasm/abi.ts";
import type { HeaderMap } from "./header-map.ts";
import type { StreamInfo } from "./stream-info.ts";

/** What a property look-up may see at this moment. */
export interface PropertyView {
  info: StreamInfo;
  nowUs: number;
  requestHeaders: HeaderMap | undefined;
  responseHeaders: HeaderMap | undefined;
  /** The stream has ended: durations and sizes are final. */
  finished: boolean;
}

type Value = Uint8Array | Status | undefined;
type Reader = (view: PropertyView, key: string) => Value;

const NS_PER_US = 1000n;

function text(value: string | undefined): Uint8Array | undefined {
  return value === undefined ? undefined : Buffer.from(value, "latin1");
}

/** 8 bytes, little endian: CEL's int, uint, duration and timestamp alike. */
function integer(value: number | bigint | undefined): Uint8Array | undefined {
  if (value === undefined) return undefined;
  const bytes = Buffer.allocUnsafe(8);
  bytes.writeBigInt64LE(BigInt.asIntN(64, BigInt(value)));
  return bytes;
}

function durationNs(fromUs: number, toUs: number | undefined): Uint8Array | undefined {
  if (toUs === undefined) return undefined;
  return integer(BigInt(Math.floor(toUs - fromUs)) * NS_PER_US);
}

const REQUEST: Record<string, Reader> = {
  path: (view) => text(view.requestHeaders?.get(":path")),
  url_path: (view) => text(view.requestHeaders?.get(":path")?.split("?")[0]),
  host: (view) => text(view.requestHeaders?.get(":authority")),
  scheme: (view) => text(view.requestHeaders?.get(":scheme")),
  method: (view) => text(view.requestHeaders?.get(":method")),
  useragent: (view) => text(view.requestHeaders?.get("user-agent")),
  headers: (view, key) => text(view.requestHeaders?.get(key)),
  id: ({ info }) => text(info.requestId),
  protocol: ({ info }) => text(info.protocol === "http2" ? "HTTP/2" : "HTTP/1.1"),
  time: ({ info }) => integer(BigInt(Math.floor(info.startUs)) * NS_PER_US),
  size: ({ info }) => integer(info.requestBytes),
  total_size: ({ info }) => integer(info.requestBytes),
  duration: ({ info }) => durationNs(info.startUs, info.endUs),
};

const RESPONSE: Record<string, Reader> = {
  code: ({ info }) => integer(info.responseCode),
  code_details: ({ info }) =>
    info.responseCode === undefined && info.details === "" ? undefined : text(info.details),
  flags: ({ info }) => integer(info.flags),
  headers: (view, key) => text(view.responseHeaders?.get(key)),
  size: ({ info }) => integer(info.responseBytes),
  total_size: ({ info }) => integer(info.responseBytes),
  backend_latency: ({ info, finished }) =>
    finished ? durationNs(info.startUs, info.respondedUs) : undefined,
};

const UPSTREAM: Record<string, Reader> = {
  address: ({ info }) => text(info.endpoint?.address),
  port: ({ info }) => integer(info.endpoint?.port),
  num_endpoints: ({ info }) => integer(info.membership?.()),
  request_attempt_count: ({ info }) => integer(info.attempts),
  locality: ({ info }) => (info.endpoint ? text("") : undefined),
  cx_pool_ready_duration: ({ info }) => (info.endpoint ? integer(0) : undefined),
  transport_failure_reason: ({ info }) => (info.endpoint ? text(info.transportFailure) : undefined),
};

const XDS: Record<string, Reader> = {
  cluster_name: ({ info }) => text(info.route?.cluster),
  route_name: ({ info }) => text(info.route?.name),
  virtual_host_name: ({ info }) => (info.route ? text("default") : undefined),
  // Envoy cannot serialise the absent metadata message of an endpoint.
  upstream_host_metadata: ({ info }) => (info.endpoint ? Status.SerializationFailure : undefined),
};

const CONNECTION: Record<string, Reader> = {
  id: ({ info }) => integer(info.connectionId),
  mtls: () => new Uint8Array([0]),
};

const ROOTS: Record<string, Record<string, Reader>> = {
  request: REQUEST,
  response: RESPONSE,
  upstream: UPSTREAM,
  xds: XDS,
  connection: CONNECTION,
};

/**
 * Looks up a NUL-separated path.
 * @returns bytes, undefined when absent, or another status where Envoy refuses differently
 */
export function streamProperty(view: PropertyView, path: string): Value {
  const parts = path.split("\0");
  if (parts[parts.length - 1] === "") parts.pop();
  const [root = "", field, key = ""] = parts;
  if (root === "connection_id") return integer(view.info.connectionId);
  const fields = ROOTS[root];
  if (fields !== undefined) return field === undefined ? undefined : fields[field]?.(view, key);
  return parts.length === 1 ? view.info.filterState.get(`wasm.${root}`) : undefined;
}
