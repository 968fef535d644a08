// SPDX-License-Identifier: Apache-2.0
// What a stock Envoy offers: round robin, least request in both forms, and a hash on the client's session id.
import { type Baseline, leastInFlight } from "./policy.ts";
import { rendezvous } from "./rendezvous.ts";

/** One after the other, from a random start. */
export function roundRobin(): Baseline {
  let next = -1;
  return (_, known, draws) => {
    next = next < 0 ? draws.below(known.endpoints) : (next + 1) % known.endpoints;
    return next;
  };
}

/** LEAST_REQUEST with FULL_SCAN. */
export function leastRequest(): Baseline {
  return (_, known, draws) => leastInFlight(known, draws);
}

/** LEAST_REQUEST with two random choices. */
export function powerOfTwo(): Baseline {
  return (_, known, draws) => {
    const first = draws.below(known.endpoints);
    const second = draws.below(known.endpoints);
    return known.inFlight[second]! < known.inFlight[first]! ? second : first;
  };
}

/** A consistent hash on the session id, blind to load. */
export function sessionHash(): Baseline {
  return (passage, known) => rendezvous(passage.session.id, known.endpoints)[0]!;
}
