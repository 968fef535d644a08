// SPDX-License-Identifier: Apache-2.0
// The endpoint on which gateways agree for a session without talking to each other.
import { fold } from "../../hash/mix";
import { Loads } from "../../memory/loads";
import { Request } from "../../request/request";

/**
 * What names a session to every gateway alike: its key, or the chain up to the first model item where the client
 * tells none, so that all turns of a conversation agree. 0 where there is neither.
 */
export function sessionOf(request: Request): u64 {
  if (request.session != 0 || request.boundaryCount == 0) return request.session;
  return request.boundaries[0].chain ^ request.model;
}

/**
 * Row of `argmax H(session, endpoint address)` (highest random weight, Thaler and Ravishankar 1998): when an
 * endpoint leaves, only its own sessions move. There must be a row.
 */
export function rendezvous(session: u64, loads: Loads): i32 {
  let best = 0;
  let bestWeight: u64 = 0;
  for (let i = 0; i < loads.count; i++) {
    const weight = fold(session, loads.endpoints[i]);
    if (weight < bestWeight) continue;
    bestWeight = weight;
    best = i;
  }
  return best;
}
