// SPDX-License-Identifier: Apache-2.0
// States of endpoints in the store that all workers share, one value each; deeds are kept and written many at once.
import { PackedValue } from "../../memory/packed-value";
import { SharedStore, Write, WRITE_ATTEMPTS } from "../../memory/shared-store";
import { Deed } from "./deed";
import { EndpointState } from "./endpoint-state";
import { Endpoints } from "./endpoints";

const FORMAT: u16 = 0x0701;
/** A state is kept as rows of eight bytes. */
const ROW_BYTES: i32 = 8;
/** Rows of the largest state: 400 sessions, 128 samples, 64 rates and their heads. */
const MAX_ROWS: i32 = 1_200;

/** Deeds of one worker between two ticks; one more writes those before it. */
const MAX_DEEDS: i32 = 256;

/**
 * A state is some kilobytes: reading and writing it for each of a request's three deeds would take longer than all
 * else that admission does. So a worker sees what others did up to a tick later, except where a held request is let
 * go: there it looks again.
 */
export class SharedEndpoints extends Endpoints {
  private readonly value: PackedValue;
  private readonly deeds: StaticArray<Deed> = new StaticArray<Deed>(MAX_DEEDS);
  private count: i32 = 0;

  /** `fleet` is short ASCII and unique to the cluster: it is part of the keys. */
  constructor(store: SharedStore, fleet: string) {
    super();
    this.value = new PackedValue(store, "a." + fleet + ".", FORMAT, ROW_BYTES, MAX_ROWS);
    for (let i = 0; i < MAX_DEEDS; i++) this.deeds[i] = new Deed();
  }

  get next(): Deed {
    return this.deeds[this.count];
  }

  done(): void {
    const deed = this.next;
    deed.perform(this.view(deed.slot));
    if (++this.count == MAX_DEEDS) this.flush();
  }

  flush(): void {
    while (this.count > 0) {
      const slot = this.deeds[this.count - 1].slot;
      for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
        this.edit(slot);
        if (this.commit(slot)) break;
      }
      this.forget(slot); // What no attempt could write stays in this worker's view until the next read.
    }
  }

  edit(slot: i32): EndpointState {
    const state = this.view(slot);
    this.value.edit(<u32>slot);
    state.restore(this.value.row(0), this.value.count * ROW_BYTES);
    for (let i = 0; i < this.count; i++) {
      const deed = this.deeds[i];
      if (deed.slot == slot) deed.perform(state);
    }
    return state;
  }

  commit(slot: i32): bool {
    const state = this.view(slot);
    const rows = (state.savedBytes + ROW_BYTES - 1) / ROW_BYTES;
    // A shorter state than the one that was read leaves its last rows out.
    this.value.count = min(this.value.count, rows);
    this.value.extend(rows);
    state.save(this.value.row(0));
    if (this.value.commit() == Write.Conflict) return false;
    this.forget(slot);
    return true;
  }

  /** Takes the deeds of one endpoint out of the journal; the others keep their order. */
  private forget(slot: i32): void {
    let kept = 0;
    for (let i = 0; i < this.count; i++) {
      const deed = this.deeds[i];
      if (deed.slot == slot) continue;
      this.deeds[i] = this.deeds[kept];
      this.deeds[kept++] = deed;
    }
    this.count = kept;
  }
}
