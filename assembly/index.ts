// SPDX-License-Identifier: Apache-2.0
// The proxy-wasm exports: each callback finds its object by context id and hands over, one line each.
import "./host/abort";
import { logInfo } from "./host/log";

export function proxy_abi_version_0_2_1(): void {}

export function malloc(size: usize): usize {
  return heap.alloc(size);
}

export function proxy_on_vm_start(_root: u32, _size: u32): u32 {
  logInfo("started");
  return 1;
}
