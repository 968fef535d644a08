// SPDX-License-Identifier: Apache-2.0
// Whether a pin was obeyed, without asking Envoy who answered: its stateful_session filter says so where it was not.
import { propertyAddress, propertyPath, propertySize, readProperty } from "../host/properties";
import { Fleet } from "../memory/fleet";
import { isDue, NO_SLOT } from "../memory/roster";
import { Fleets } from "./fleets";
import { Turnaround } from "./turnaround";

const UPSTREAM_ADDRESS = propertyPath("upstream.address");

/** One answer in this time is looked up all the same. */
const CHECK_MS: u64 = 20;
/** After silence about a pin that was not obeyed (a route without stateful_session), silence means nothing. */
const DOUBT_MS: u64 = 60_000;

/** So many silent answers in a row were looked up and came from the pinned endpoint: no chance, somebody obeys. */
const OBEYED_IN_A_ROW: i32 = 32;

/**
 * stateful_session names the endpoint in a response header when it was not the pinned one, or none was pinned. Once
 * it has been heard to do so, its silence means obedience: that saves each follow-up a look-up of 1 us (measured).
 * Where every request is pinned, or another filter strips the header, it is never heard: there it is known by what
 * look-ups have found.
 */
@final
export class PinWitness {
  private isHeard: bool = false;
  private obeyed: i32 = 0;
  private checkedMs: u64 = 0;
  private doubtedMs: u64 = 0;

  /** True where the silence about a pinned request is as good as a look-up. */
  isSure(namesEndpoint: bool, nowMs: u64): bool {
    const isKnown = this.isHeard || this.obeyed >= OBEYED_IN_A_ROW;
    return isKnown && !namesEndpoint && !isDue(this.checkedMs, CHECK_MS, nowMs);
  }

  /** Takes note of a look-up. `isMoved`: another endpoint than the pinned one has answered. */
  note(isPinned: bool, isMoved: bool, namesEndpoint: bool, nowMs: u64): void {
    if (namesEndpoint) {
      this.isHeard = this.isHeard || isDue(this.doubtedMs, DOUBT_MS, nowMs);
      return;
    }
    if (!isPinned) return;
    this.checkedMs = nowMs;
    if (!isMoved) {
      this.obeyed++;
      return;
    }
    this.isHeard = false;
    this.obeyed = 0;
    this.doubtedMs = nowMs;
  }
}

/** Slot that Envoy was told, or NO_SLOT. */
export function pinnedSlot(turnaround: Turnaround): i32 {
  return turnaround.pinned ? turnaround.decision.slot : NO_SLOT;
}

/**
 * Slot of the endpoint that answered with 2xx.
 * @param fleets those that the endpoint may belong to instead; null where that cannot be told
 * @param witness null where Envoy obeys by other means than stateful_session
 */
export function slotThatAnswered(
  turnaround: Turnaround,
  fleet: Fleet,
  fleets: Fleets | null,
  witness: PinWitness | null,
  namesEndpoint: bool,
  nowMs: u64,
): i32 {
  const pinned = pinnedSlot(turnaround);
  const isSame = pinned != NO_SLOT && fleet.generationOf(pinned) == turnaround.pinnedGeneration;
  if (isSame && witness !== null && witness.isSure(namesEndpoint, nowMs)) return pinned;
  if (!readProperty(UPSTREAM_ADDRESS)) return NO_SLOT;
  if (fleets !== null && fleet.slotOf(propertyAddress(), <i32>propertySize()) == NO_SLOT) {
    if (!fleets.isRoutedTo(fleet) || !readProperty(UPSTREAM_ADDRESS)) return NO_SLOT;
  }
  const slot = fleet.enroll(propertyAddress(), <i32>propertySize(), nowMs);
  if (witness !== null) witness.note(isSame, slot != pinned, namesEndpoint, nowMs);
  return slot;
}
