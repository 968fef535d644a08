// SPDX-License-Identifier: Apache-2.0
// Which endpoints are another gateway's for new sessions, so that gateways that share nothing do not overfill one.
import { Loads } from "../../memory/loads";

/**
 * Marks the rows whose endpoint belongs to another gateway: endpoints are dealt in the order of their address
 * hashes, which every gateway computes alike, so shares differ by one endpoint at most.
 *
 * @param index this gateway, from 0
 * @param count gateways in front of the fleet
 */
export function markForeign(loads: Loads, index: i32, count: i32): void {
  for (let row = 0; row < loads.count; row++) {
    loads.foreign[row] = count > 1 && rankOf(loads, row) % count != index % count;
  }
}

/** Place of an endpoint in the order of address hashes. At most 64 rows: a walk is cheaper than sorting. */
function rankOf(loads: Loads, row: i32): i32 {
  const own = loads.endpoints[row];
  let rank = 0;
  for (let i = 0; i < loads.count; i++) {
    const other = loads.endpoints[i];
    if (other < own || (other == own && i < row)) rank++;
  }
  return rank;
}
