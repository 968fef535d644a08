// SPDX-License-Identifier: Apache-2.0
// States of endpoints in the store that all workers share, one value each.
import { PackedValue } from "../../memory/packed-value";
import { SharedStore, Write } from "../../memory/shared-store";
import { EndpointState } from "./endpoint-state";
import { Endpoints } from "./endpoints";

const FORMAT: u16 = 0x0701;
/** A state is kept as rows of eight bytes. */
const ROW_BYTES: i32 = 8;
/** Rows of the largest state: 400 sessions, 128 samples, 64 rates and their heads. */
const MAX_ROWS: i32 = 1_200;

export class SharedEndpoints extends Endpoints {
  private readonly value: PackedValue;

  /** `fleet` is short ASCII and unique to the cluster: it is part of the keys. */
  constructor(store: SharedStore, fleet: string) {
    super();
    this.value = new PackedValue(store, "a." + fleet + ".", FORMAT, ROW_BYTES, MAX_ROWS);
  }

  edit(slot: i32): EndpointState {
    const state = this.view(slot);
    this.value.edit(<u32>slot);
    state.restore(this.value.row(0), this.value.count * ROW_BYTES);
    return state;
  }

  commit(slot: i32): bool {
    const state = this.view(slot);
    const rows = (state.savedBytes + ROW_BYTES - 1) / ROW_BYTES;
    // A shorter state than the one that was read leaves its last rows out.
    this.value.count = min(this.value.count, rows);
    this.value.extend(rows);
    state.save(this.value.row(0));
    return this.value.commit() != Write.Conflict;
  }
}
