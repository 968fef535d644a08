// SPDX-License-Identifier: Apache-2.0
// Envoy attributes (docs: "Attributes"): an absent one is an ordinary answer, not a trap.
import { proxy_get_property, proxy_set_property } from "@solo-io/proxy-runtime/assembly/imports";
import { Landing, outAddress, outSize } from "./landing";
import { Status } from "./status";
import { HostText } from "./text";

const LANDING_BYTES: u32 = 4096;

const landing = new Landing(LANDING_BYTES);

/** The path of an attribute such as `upstream.address`, in the zero-separated form of the ABI. */
export function propertyPath(dotted: string): HostText {
  return new HostText(dotted.replaceAll(".", "\0"));
}

/** Reads an attribute; false when it is absent. Its bytes are at `propertyAddress` until the next read. */
export function readProperty(path: HostText): bool {
  landing.aim();
  if (proxy_get_property(path.address, path.size, outAddress, outSize) != Status.Ok) return false;
  landing.landed(load<usize>(outAddress), load<u32>(outSize));
  return true;
}

export function propertyAddress(): usize {
  return landing.address;
}

export function propertySize(): u32 {
  return landing.size;
}

/** Reads an integer attribute (8 bytes, little endian), or `fallback` when it is absent or of another type. */
export function readInteger(path: HostText, fallback: i64): i64 {
  if (!readProperty(path) || landing.size != 8) return fallback;
  return load<i64>(landing.address);
}

/** Writes `wasm.<name>` into the filter state of the stream. */
export function writeFilterState(name: HostText, valueAddress: usize, valueSize: u32): bool {
  return proxy_set_property(name.address, name.size, valueAddress, valueSize) == Status.Ok;
}
