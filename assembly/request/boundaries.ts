// SPDX-License-Identifier: Apache-2.0
// Which boundaries of a conversation are kept: those of runs 1, 2, 4, 8, ... and the last four, in bounded memory.
import { Boundary, MAX_BOUNDARIES, Request } from "./request";

/** Boundaries kept whatever their number. */
const RECENT: i32 = 4;
/** Powers of two up to 2^14; with the recent ones and the end of the list they fill a request. */
const POWERS: i32 = MAX_BOUNDARIES - RECENT - 1;

/**
 * An edit or a fork anywhere keeps at least half of its prefix, because a boundary at least half as deep is kept.
 * Boundaries are numbered from 1 in the order in which they come.
 */
export class Boundaries {
  private readonly powers: StaticArray<Boundary> = new StaticArray<Boundary>(POWERS);
  private readonly recent: StaticArray<Boundary> = new StaticArray<Boundary>(RECENT);
  private count: i32 = 0;

  constructor() {
    for (let i = 0; i < POWERS; i++) this.powers[i] = new Boundary();
    for (let i = 0; i < RECENT; i++) this.recent[i] = new Boundary();
  }

  clear(): void {
    this.count = 0;
  }

  add(boundary: Boundary): void {
    const number = ++this.count;
    unchecked(this.recent[number & (RECENT - 1)]).copyFrom(boundary);
    const power = ctz(number);
    if (popcnt(number) == 1 && power < POWERS) unchecked(this.powers[power]).copyFrom(boundary);
  }

  /** Writes what is kept into a request, shallow to deep, then `open` (not yet added), with room for one more. */
  list(request: Request, open: Boundary | null): void {
    const last = this.count + (open !== null ? 1 : 0);
    const firstRecent = max(1, last - RECENT + 1);
    let listed = 0;
    for (let power = 0; power < POWERS && 1 << power < firstRecent; power++) {
      unchecked(request.boundaries[listed++]).copyFrom(unchecked(this.powers[power]));
    }
    for (let number = firstRecent; number <= this.count; number++) {
      const boundary = unchecked(this.recent[number & (RECENT - 1)]);
      unchecked(request.boundaries[listed++]).copyFrom(boundary);
    }
    if (open !== null) unchecked(request.boundaries[listed++]).copyFrom(open);
    request.boundaryCount = listed;
  }
}
