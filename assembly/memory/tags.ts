// SPDX-License-Identifier: Apache-2.0
// Short forms of 64-bit hashes for packed tables.

/** 32 bits of a hash that are never 0, so that 0 can mean "none". */
export function tagOf(hash: u64): u32 {
  const tag = <u32>(hash ^ (hash >> 32));
  return tag == 0 ? 1 : tag;
}
