// SPDX-License-Identifier: Apache-2.0
// Discrete queues over a continuous measure of service, first come first served within each.
import { Program } from "../../memory/program";

/** Queues. The papers give no number; eight doublings of two seconds span an agent's life. */
export const BUCKETS: i32 = 8;
const FIRST_BUCKET_SECONDS: f64 = 2;
/** A program that has waited this many times its service is starved. */
const STARVED_RATIO: f64 = 8;

/** `floor(log2(1 + service / 2 s))`, at most the last bucket: 0 below 2 s, 1 below 6 s, 2 below 14 s, ... */
export function bucketOf(seconds: f64): i32 {
  let bucket = 0;
  let limit = FIRST_BUCKET_SECONDS;
  for (; bucket < BUCKETS - 1 && seconds >= limit; bucket++) {
    limit = 2 * limit + FIRST_BUCKET_SECONDS;
  }
  return bucket;
}

/** Starved programs go to the first queue until service has made up for their waits. */
export function isStarved(program: Program): bool {
  return program.waitSeconds > 0 && program.waitSeconds >= STARVED_RATIO * program.serviceSeconds;
}
