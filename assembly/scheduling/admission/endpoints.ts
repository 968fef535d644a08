// SPDX-License-Identifier: Apache-2.0
// Where the states of endpoints are kept: in this VM, or wherever all workers of an Envoy can reach them.
import { EndpointState } from "./endpoint-state";

/** Slots of a fleet, as memory numbers them. */
export const MAX_SLOTS: i32 = 1024;

export abstract class Endpoints {
  private readonly states: StaticArray<EndpointState | null> =
    new StaticArray<EndpointState | null>(MAX_SLOTS);
  /** Slots below this one may have a state. */
  end: i32 = 0;

  /** The state as this VM saw it last, made on first use. To look at only. */
  view(slot: i32): EndpointState {
    let state = this.states[slot];
    if (state == null) {
      state = new EndpointState();
      this.states[slot] = state;
      this.end = max(this.end, slot + 1);
    }
    return state;
  }

  isKnown(slot: i32): bool {
    return this.states[slot] != null;
  }

  /** The state as it is now, to be changed and committed. */
  abstract edit(slot: i32): EndpointState;

  /** False where another worker changed the state since `edit`: change it again, on what it is now. */
  abstract commit(slot: i32): bool;
}

/** One VM alone: a simulation, or an Envoy with one worker. */
export class LocalEndpoints extends Endpoints {
  edit(slot: i32): EndpointState {
    return this.view(slot);
  }

  commit(_slot: i32): bool {
    return true;
  }
}
