// SPDX-License-Identifier: Apache-2.0
// Moments as ranks: whole seconds on a scale that fits an i32 for decades.

/** 2025-01-01T00:00:00Z, ms since the epoch. */
const SCALE_START_MS: f64 = 1_735_689_600_000;

/** Seconds since 2025, cut off at what an i32 holds (the year 2093). */
export function momentRank(epochMs: f64): i32 {
  const seconds = Math.floor((epochMs - SCALE_START_MS) / 1000);
  return <i32>min(<f64>i32.MAX_VALUE, max(-(<f64>i32.MAX_VALUE), seconds));
}
