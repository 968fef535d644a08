// SPDX-License-Identifier: Apache-2.0
// A Wasm filter that makes the calls into its host that smetric makes for a follow-up, and does nothing with them.
import { CAPACITY, CONTINUE, LANDING } from "./idle";

export {
  malloc,
  proxy_abi_version_0_2_1,
  proxy_on_configure,
  proxy_on_context_create,
  proxy_on_delete,
  proxy_on_done,
  proxy_on_log,
  proxy_on_request_trailers,
} from "./idle";

// @ts-ignore: decorator
@external("env", "proxy_get_buffer_bytes")
declare function getBufferBytes(kind: u32, start: u32, size: u32, at: usize, sizeAt: usize): u32;
// @ts-ignore: decorator
@external("env", "proxy_get_header_map_pairs")
declare function getPairs(map: u32, at: usize, sizeAt: usize): u32;
// @ts-ignore: decorator
@external("env", "proxy_replace_header_map_value")
declare function replaceHeader(map: u32, name: usize, nameSize: u32, at: usize, size: u32): u32;
// @ts-ignore: decorator
@external("env", "proxy_get_shared_data")
declare function getShared(key: usize, keySize: u32, at: usize, sizeAt: usize, casAt: usize): u32;
// @ts-ignore: decorator
@external("env", "proxy_set_shared_data")
declare function setShared(key: usize, keySize: u32, at: usize, size: u32, cas: u32): u32;
// @ts-ignore: decorator
@external("env", "proxy_get_current_time_nanoseconds")
declare function getTime(at: usize): u32;

const outAddress: usize = memory.data(8);
const outSize: usize = memory.data(8);
const outVersion: usize = memory.data(8);

export const REQUEST: u32 = 0;
const RESPONSE_BODY: u32 = 1;
const RESPONSE_HEADERS: u32 = 2;
const STOP_ITERATION: u32 = 1;

/** About the size of a bucket that holds one session's boundaries. */
const VALUE_BYTES: u32 = 600;

const VALUE = String.UTF8.encode("MTI3LjAuMC4xOjE=");
const BUCKET_KEY = String.UTF8.encode("bench.calls.bucket");
/** Names as long as those that smetric writes. */
export const NAMES: StaticArray<ArrayBuffer> = [
  String.UTF8.encode("x-smetric-turn"),
  String.UTF8.encode("x-smetric-verified-turn"),
  String.UTF8.encode("x-smetric-session"),
  String.UTF8.encode("x-smetric-prefix-tokens"),
  String.UTF8.encode("x-smetric-decision"),
  String.UTF8.encode("x-smetric-endpoint"),
];

function read(key: ArrayBuffer): void {
  const address = changetype<usize>(key);
  getShared(address, <u32>key.byteLength, outAddress, outSize, outVersion);
}

function writeHeaders(): void {
  const value = changetype<usize>(VALUE);
  for (let i = 0; i < NAMES.length; i++) {
    const name = NAMES[i];
    const size = <u32>name.byteLength;
    replaceHeader(REQUEST, changetype<usize>(name), size, value, <u32>VALUE.byteLength);
  }
}

export function proxy_on_request_headers(_context: u32, _count: u32, ended: u32): u32 {
  getPairs(REQUEST, outAddress, outSize);
  return ended != 0 ? CONTINUE : STOP_ITERATION;
}

export function proxy_on_request_body(_context: u32, size: u32, _ended: u32): u32 {
  if (size == 0) return CONTINUE;
  getBufferBytes(REQUEST, 0, min(size, CAPACITY), outAddress, outSize);
  getTime(outVersion);
  read(BUCKET_KEY);
  writeHeaders();
  return CONTINUE;
}

export function proxy_on_response_headers(_context: u32, _count: u32, _ended: u32): u32 {
  getPairs(RESPONSE_HEADERS, outAddress, outSize);
  const key = changetype<usize>(BUCKET_KEY);
  setShared(key, <u32>BUCKET_KEY.byteLength, LANDING, VALUE_BYTES, 0);
  return CONTINUE;
}

export function proxy_on_response_body(_context: u32, size: u32, _ended: u32): u32 {
  if (size > 0) getBufferBytes(RESPONSE_BODY, 0, min(size, CAPACITY), outAddress, outSize);
  return CONTINUE;
}
