// SPDX-License-Identifier: Apache-2.0
// Randomness from the host: WASI's random_get, which Envoy's V8 runtime offers.

// @ts-ignore: decorator
@external("wasi_snapshot_preview1", "random_get")
declare function random_get(address: usize, size: usize): u32;

const outRandom: usize = memory.data(8);

/** 64 random bits, or `fallback` where the host offers none. */
export function randomBits(fallback: u64): u64 {
  return random_get(outRandom, 8) == 0 ? load<u64>(outRandom) : fallback;
}
