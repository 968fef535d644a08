// SPDX-License-Identifier: Apache-2.0
// Header maps: read whole in one host call, written name by name.
import {
  proxy_get_header_map_pairs,
  proxy_remove_header_map_value,
  proxy_replace_header_map_value,
} from "@solo-io/proxy-runtime/assembly/imports";
import { Landing, outAddress, outSize } from "./landing";
import { HeaderMapType, Status } from "./status";
import { HostText } from "./text";

// Envoy's default limit for all headers of a message is 60 KiB; larger ones take a heap block.
const LANDING_BYTES: u32 = 64 * 1024;

/** Texts are hashed a vector at a time, so that some bytes behind the last one must be readable. */
const MARGIN: u32 = 128;

// Serialised form: u32 count, then (u32 name size, u32 value size) a pair, then the bytes, each ended by a zero.
const COUNT_BYTES: usize = 4;
const SIZES_BYTES: usize = 8;

/** One header map, read at once; the cursor walks it. Valid until the next `read`. */
@final
export class HeaderCursor {
  private readonly landing: Landing = new Landing(LANDING_BYTES, MARGIN);
  private remaining: u32 = 0;
  private sizes: usize = 0;
  private bytes: usize = 0;
  private end: usize = 0;
  nameAddress: usize = 0;
  nameSize: u32 = 0;
  valueAddress: usize = 0;
  valueSize: u32 = 0;

  /** Copies the map; false (and nothing to walk) when the host has none. Costs about 1 us (measured). */
  read(map: HeaderMapType): bool {
    const landing = this.landing;
    this.remaining = 0;
    landing.aim();
    if (proxy_get_header_map_pairs(map, outAddress, outSize) != Status.Ok) return false;
    landing.landed(load<usize>(outAddress), load<u32>(outSize));
    if (<usize>landing.size < COUNT_BYTES) return false;
    const count = load<u32>(landing.address);
    if (<u64>count * SIZES_BYTES + COUNT_BYTES > <u64>landing.size) return false;
    this.remaining = count;
    this.sizes = landing.address + COUNT_BYTES;
    this.bytes = this.sizes + <usize>count * SIZES_BYTES;
    this.end = landing.address + landing.size;
    return true;
  }

  /** Steps to the next header; false at the end. */
  next(): bool {
    if (this.remaining == 0) return false;
    this.nameSize = load<u32>(this.sizes);
    this.valueSize = load<u32>(this.sizes, 4);
    this.nameAddress = this.bytes;
    this.valueAddress = this.bytes + this.nameSize + 1;
    this.bytes = this.valueAddress + this.valueSize + 1;
    this.sizes += SIZES_BYTES;
    this.remaining--;
    return this.bytes <= this.end;
  }
}

/** Sets a header, replacing all values it had. False when the map can no longer be written. */
export function replaceHeader(
  map: HeaderMapType,
  name: HostText,
  valueAddress: usize,
  valueSize: u32,
): bool {
  return (
    proxy_replace_header_map_value(map, name.address, name.size, valueAddress, valueSize) ==
    Status.Ok
  );
}

/** Removes all values of a header. */
export function removeHeader(map: HeaderMapType, nameAddress: usize, nameSize: u32): void {
  proxy_remove_header_map_value(map, nameAddress, nameSize);
}
