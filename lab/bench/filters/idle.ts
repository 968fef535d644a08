// SPDX-License-Identifier: Apache-2.0
// Callbacks of a Wasm filter that do nothing: those that smetric takes, for filters that do something in a few of them.

/** What the host hands over lands here; as large as the filter's default `body_window_bytes`. */
export const CAPACITY: u32 = 64 * 1024;
export const LANDING: usize = memory.data(65536);
export const CONTINUE: u32 = 0;

export function proxy_abi_version_0_2_1(): void {}

export function malloc(size: usize): usize {
  return size <= <usize>CAPACITY ? LANDING : 0;
}

export function proxy_on_context_create(_context: u32, _parent: u32): void {}

export function proxy_on_configure(_root: u32, _size: u32): u32 {
  return 1;
}

export function proxy_on_request_headers(_context: u32, _count: u32, _ended: u32): u32 {
  return CONTINUE;
}

export function proxy_on_request_body(_context: u32, _size: u32, _ended: u32): u32 {
  return CONTINUE;
}

export function proxy_on_request_trailers(_context: u32, _count: u32): u32 {
  return CONTINUE;
}

export function proxy_on_response_headers(_context: u32, _count: u32, _ended: u32): u32 {
  return CONTINUE;
}

export function proxy_on_response_body(_context: u32, _size: u32, _ended: u32): u32 {
  return CONTINUE;
}

export function proxy_on_log(_context: u32): void {}

export function proxy_on_done(_context: u32): u32 {
  return 1;
}

export function proxy_on_delete(_context: u32): void {}
