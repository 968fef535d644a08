// SPDX-License-Identifier: Apache-2.0
// What the gateway has sent to each candidate endpoint and not seen finished.

/** Most endpoints one pick reads: all of a fleet up to this size, else homes and a sample. */
export const MAX_CANDIDATES: i32 = 64;

/** One row per candidate of a pick. Reused: the fleet refills it for each request. */
export class Loads {
  count: i32 = 0;
  slots: StaticArray<i32> = new StaticArray<i32>(MAX_CANDIDATES);
  /** Hash of each endpoint's address: unlike slots the same in every gateway. */
  endpoints: StaticArray<u64> = new StaticArray<u64>(MAX_CANDIDATES);
  /** b: requests in flight. */
  inFlight: StaticArray<i32> = new StaticArray<i32>(MAX_CANDIDATES);
  /** q: uncached prefill tokens sent whose first byte has not come back. */
  pendingPrefill: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** f: context tokens of all requests in flight. */
  context: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** r: context tokens of sessions whose last request went here within the committed window. */
  committed: StaticArray<f64> = new StaticArray<f64>(MAX_CANDIDATES);
  /** Beliefs older than this were seen evicted (ms since the epoch; 0 = none seen). */
  horizonMs: StaticArray<u64> = new StaticArray<u64>(MAX_CANDIDATES);
  /** This request's head (tools, system text) was served by the endpoint not long ago; false where unknown. */
  headServed: StaticArray<bool> = new StaticArray<bool>(MAX_CANDIDATES);
  /** The endpoint is in another gateway's share: new sessions go there only when no other is left. */
  foreign: StaticArray<bool> = new StaticArray<bool>(MAX_CANDIDATES);
  /** The fleet is too large to be listed: these are the homes and a sample of the others. */
  sampled: bool = false;
  /** False while the cluster has endpoints that have not served yet: Envoy then places first turns. */
  complete: bool = false;
  /** How many those are. */
  missing: i32 = 0;
}
