// SPDX-License-Identifier: Apache-2.0
// Shared data: one map for all workers of an Envoy, with compare-and-swap. The ABI cannot delete a key.
import {
  proxy_get_shared_data,
  proxy_set_shared_data,
} from "@solo-io/proxy-runtime/assembly/imports";
import { Landing, outAddress, outSize } from "./landing";
import { Status } from "./status";

const outVersion: usize = memory.data(8);

/** Reads the value of a key into `landing`. Returns its version (never 0), or 0 when the key is absent. */
export function readShared(landing: Landing, keyAddress: usize, keySize: u32): u32 {
  landing.aim();
  const status = proxy_get_shared_data(keyAddress, keySize, outAddress, outSize, outVersion);
  if (status != Status.Ok) return 0;
  landing.landed(load<usize>(outAddress), load<u32>(outSize));
  return load<u32>(outVersion);
}

/**
 * Writes a value. With a version other than 0 the write happens only if nobody wrote since that version was read.
 * Returns Ok, CasMismatch, or another status when the host refuses.
 */
export function writeShared(
  keyAddress: usize,
  keySize: u32,
  valueAddress: usize,
  valueSize: u32,
  version: u32,
): Status {
  return proxy_set_shared_data(keyAddress, keySize, valueAddress, valueSize, version);
}
