// SPDX-License-Identifier: Apache-2.0
// Where the states of endpoints are kept: in this VM, or wherever all workers of an Envoy can reach them.
import { Deed } from "./deed";
import { EndpointState } from "./endpoint-state";

/** Slots of a fleet, as memory numbers them. */
export const MAX_SLOTS: i32 = 1024;

export abstract class Endpoints {
  private readonly states: StaticArray<EndpointState | null> =
    new StaticArray<EndpointState | null>(MAX_SLOTS);
  /** Slots below this one may have a state. */
  end: i32 = 0;

  /** The state as this VM sees it, made on first use. To look at only. */
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

  /** To be filled; `done` does it. */
  abstract get next(): Deed;

  /** What `next` says happened: the view shows it at once, other workers see it after `flush`. */
  abstract done(): void;

  /** Tells the other workers what was done. */
  abstract flush(): void;

  /** The state as all workers have left it, and all that was done here, to be changed and committed. */
  abstract edit(slot: i32): EndpointState;

  /** False where another worker changed the state since `edit`: change it again, on what it is now. */
  abstract commit(slot: i32): bool;
}

/** One VM alone: a simulation, or an Envoy with one worker. */
export class LocalEndpoints extends Endpoints {
  private readonly deed: Deed = new Deed();

  get next(): Deed {
    return this.deed;
  }

  done(): void {
    this.deed.perform(this.view(this.deed.slot));
  }

  flush(): void {}

  edit(slot: i32): EndpointState {
    return this.view(slot);
  }

  commit(_slot: i32): bool {
    return true;
  }
}
