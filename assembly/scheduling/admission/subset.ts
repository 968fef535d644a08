// SPDX-License-Identifier: Apache-2.0
// Which endpoints are another gateway's for new sessions, so that gateways that share nothing do not overfill one.
import { Loads, MAX_CANDIDATES } from "../../memory/loads";

/**
 * Endpoints are dealt in the order of their address hashes, which every gateway computes alike, so shares differ by
 * one endpoint at most. One per fleet and VM.
 */
export class Subset {
  private owned: i32 = 0;
  private readonly hashes: StaticArray<u64> = new StaticArray<u64>(MAX_CANDIDATES);

  /**
   * @param index this gateway, from 0
   * @param count gateways in front of the fleet
   */
  constructor(
    private readonly index: i32,
    private readonly count: i32,
  ) {}

  /**
   * Marks the rows whose endpoint belongs to another gateway. What nobody here sends to is forgotten after a while:
   * the share stays as it was dealt until all endpoints are known again.
   */
  mark(loads: Loads): void {
    if (this.count <= 1) return;
    if (loads.complete || this.owned == 0) this.deal(loads);
    for (let row = 0; row < loads.count; row++) {
      loads.foreign[row] = !this.owns(loads.endpoints[row]);
    }
  }

  private deal(loads: Loads): void {
    this.owned = 0;
    for (let row = 0; row < loads.count; row++) {
      if (rankOf(loads, row) % this.count != this.index % this.count) continue;
      this.hashes[this.owned++] = loads.endpoints[row];
    }
  }

  private owns(hash: u64): bool {
    for (let i = 0; i < this.owned; i++) {
      if (unchecked(this.hashes[i]) == hash) return true;
    }
    return false;
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
