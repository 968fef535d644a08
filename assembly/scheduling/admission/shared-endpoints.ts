// SPDX-License-Identifier: Apache-2.0
// States of endpoints in the store that all workers share, one value each; deeds are kept and written many at once.
import { fold } from "../../hash/mix";
import { PackedValue } from "../../memory/packed-value";
import { SharedStore, Write, WRITE_ATTEMPTS } from "../../memory/shared-store";
import { Deed } from "./deed";
import { EndpointState } from "./endpoint-state";
import { Endpoints, MAX_SLOTS } from "./endpoints";
import { Journal } from "./journal";

const FORMAT: u16 = 0x0704;
/** A state is kept as rows of eight bytes. */
const ROW_BYTES: i32 = 8;
/** Rows of the largest state: 400 sessions, 128 samples, 64 rates and their heads. */
const MAX_ROWS: i32 = 1_200;

/**
 * Endpoints that are written with one tick, those first that have waited for longest: a value is some kilobytes in
 * and out of the host. In a larger fleet each has fewer requests, and is told of them some ticks later.
 */
const WRITTEN_PER_TICK: i32 = 8;

/** No value was written with this mark. */
const UNMARKED: u32 = 0;

/**
 * A state is some kilobytes: reading and writing it for each of a request's three deeds would take longer than all
 * else that admission does. So a worker sees what others did up to a tick later, except where a held request is let
 * go: there it looks again. Each value carries the mark of its writing: what nobody else has written since is what
 * this worker's view says already.
 */
export class SharedEndpoints extends Endpoints {
  private readonly value: PackedValue;
  private readonly deed: Deed = new Deed();
  private readonly journal: Journal = new Journal();
  /** Mark of the value that a slot's view was last read from or written to. */
  private readonly marks: StaticArray<u32> = new StaticArray<u32>(MAX_SLOTS);
  /** The flush that wrote a slot last. */
  private readonly flushes: StaticArray<u32> = new StaticArray<u32>(MAX_SLOTS);
  private flushCount: u32 = 0;
  private writes: u64 = 0;

  /**
   * @param fleet short ASCII and unique to the cluster: it is part of the keys
   * @param worker random number of this VM
   */
  constructor(
    store: SharedStore,
    fleet: string,
    private readonly worker: u64,
  ) {
    super();
    this.value = new PackedValue(store, "a." + fleet + ".", FORMAT, ROW_BYTES, MAX_ROWS);
  }

  get next(): Deed {
    return this.deed;
  }

  done(): void {
    const deed = this.deed;
    if (!this.journal.hasRoom) this.writeFirst(MAX_SLOTS);
    deed.perform(this.view(deed.slot));
    this.journal.add(deed);
  }

  flush(): void {
    this.writeFirst(WRITTEN_PER_TICK);
  }

  edit(slot: i32): EndpointState {
    const state = this.view(slot);
    const value = this.value;
    value.open(<u32>slot);
    const mark = value.isOurs ? value.mark : UNMARKED;
    if (mark != UNMARKED && mark == this.marks[slot]) return state;
    this.marks[slot] = mark;
    state.restore(value.row(0), value.count * ROW_BYTES);
    this.journal.perform(slot, state);
    return state;
  }

  commit(slot: i32): bool {
    if (!this.write(slot)) return false;
    if (this.journal.size == 0) return true;
    this.flushes[slot] = ++this.flushCount;
    this.journal.forget(this.flushes, this.flushCount);
    return true;
  }

  /** Writes the endpoints that have waited for longest. */
  private writeFirst(most: i32): void {
    const journal = this.journal;
    if (journal.size == 0) return;
    const flush = ++this.flushCount;
    let written = 0;
    for (let place = 0; place < journal.size && written < most; place = journal.after(place)) {
      const slot = journal.slotAt(place);
      if (unchecked(this.flushes[slot]) == flush) continue;
      this.flushes[slot] = flush;
      this.writeAtLast(slot);
      written++;
    }
    journal.forget(this.flushes, flush);
  }

  /** What no attempt can write stays in this worker's view until another one writes. */
  private writeAtLast(slot: i32): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.edit(slot);
      if (this.write(slot)) return;
    }
  }

  /** Writes the view where nobody has written since `edit`. */
  private write(slot: i32): bool {
    const state = this.view(slot);
    const value = this.value;
    const rows = (state.savedBytes + ROW_BYTES - 1) / ROW_BYTES;
    value.rewrite(<u32>slot, rows);
    store<u64>(value.row(rows - 1), 0); // The last row may be longer than the state.
    state.save(value.row(0));
    const mark = this.newMark();
    value.mark = mark;
    const outcome = value.commit();
    if (outcome == Write.Written) this.marks[slot] = mark;
    else if (outcome == Write.Conflict) this.marks[slot] = UNMARKED; // The view is to be read again.
    return outcome != Write.Conflict;
  }

  private newMark(): u32 {
    const mark = <u32>fold(this.worker, ++this.writes);
    return mark == UNMARKED ? 1 : mark;
  }
}
