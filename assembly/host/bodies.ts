// SPDX-License-Identifier: Apache-2.0
// Body bytes and the plugin configuration, read by range: one callback may carry megabytes.
import { proxy_get_buffer_bytes } from "@solo-io/proxy-runtime/assembly/imports";
import { Landing, outAddress, outSize } from "./landing";
import { BufferType, Status } from "./status";

/** Copies up to `landing.capacity` bytes from `start` on; returns how many came, 0 when there are none. */
export function readBuffer(landing: Landing, buffer: BufferType, start: u32, size: u32): u32 {
  const wanted = min(size, landing.capacity);
  landing.aim();
  if (proxy_get_buffer_bytes(buffer, start, wanted, outAddress, outSize) != Status.Ok) return 0;
  landing.landed(load<usize>(outAddress), load<u32>(outSize));
  return min(landing.size, wanted);
}

/** The plugin's configuration as text bytes in `landing`; its size may exceed the landing's capacity. */
export function readConfiguration(landing: Landing, size: u32): bool {
  landing.aim();
  const buffer = BufferType.PluginConfiguration;
  const status = proxy_get_buffer_bytes(buffer, 0, size, outAddress, outSize);
  if (status != Status.Ok) return false;
  landing.landed(load<usize>(outAddress), load<u32>(outSize));
  return true;
}
