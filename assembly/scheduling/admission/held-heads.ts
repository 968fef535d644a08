// SPDX-License-Identifier: Apache-2.0
// The heads of the workers' queues, so that the oldest of all held requests goes first, whoever holds it; and how
// many there are. A worker that trapped takes its requests with it: its row grows old and counts no more.
import { isDue, isPast } from "../../memory/roster";
import { PackedValue } from "../../memory/packed-value";
import { SharedStore, Write, WRITE_ATTEMPTS } from "../../memory/shared-store";

const FORMAT: u16 = 0x0703;
const ROW_BYTES: i32 = 32;
const MAX_WORKERS: i32 = 64;
/** A worker that has not renewed its head for this long may be gone: nobody waits for it. */
const STALE_MS: u64 = 1_000;
/** A head that has not changed is renewed this often. */
const RENEW_MS: u64 = 400;


@unmanaged
class Row {
  worker: u64;
  /** Order of its head among all held requests: the least goes first. */
  rank: u64;
  renewedMs: u64;
  /** Requests that it holds. */
  held: u64;
}

/** One value for a fleet. A worker without held requests has no row, so an idle Envoy has an empty value. */
export class HeldHeads {
  private readonly value: PackedValue;
  private published: bool = false;
  private rank: u64 = 0;
  private held: i32 = 0;
  private renewedMs: u64 = 0;

  constructor(
    store: SharedStore,
    fleet: string,
    private readonly worker: u64,
  ) {
    this.value = new PackedValue(store, "h." + fleet + ".", FORMAT, ROW_BYTES, MAX_WORKERS);
  }

  /** No other worker holds a request that goes before this rank. */
  isFirst(rank: u64, nowMs: u64): bool {
    this.value.open(0);
    for (let i = 0; i < this.value.count; i++) {
      const row = changetype<Row>(this.value.row(i));
      if (row.worker == this.worker || isStale(row, nowMs)) continue;
      if (row.rank < rank || (row.rank == rank && row.worker < this.worker)) return false;
    }
    return true;
  }

  /** Requests that all workers hold. */
  heldNow(nowMs: u64): u64 {
    let held: u64 = 0;
    this.value.open(0);
    for (let i = 0; i < this.value.count; i++) {
      const row = changetype<Row>(this.value.row(i));
      if (!isStale(row, nowMs)) held += row.held;
    }
    return held;
  }

  /** Tells the other workers the rank of this one's head, and how many it holds. Writes only what is news to them. */
  publish(rank: u64, held: i32, nowMs: u64): void {
    const isKnown = this.published && rank == this.rank && held == this.held;
    if (isKnown && !isDue(this.renewedMs, RENEW_MS, nowMs)) return;
    if (this.write(rank, held, nowMs)) {
      this.published = true;
      this.rank = rank;
      this.held = held;
      this.renewedMs = nowMs;
    }
  }

  /** This worker holds nothing any more. */
  withdraw(nowMs: u64): void {
    if (this.published && this.write(0, 0, nowMs)) this.published = false;
  }

  private write(rank: u64, held: i32, nowMs: u64): bool {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.value.edit(0);
      for (let i = this.value.count - 1; i >= 0; i--) {
        const row = changetype<Row>(this.value.row(i));
        if (row.worker == this.worker || isStale(row, nowMs)) this.value.removeRow(i);
      }
      const last = this.value.count;
      if (held > 0 && last < MAX_WORKERS) {
        this.value.extend(last + 1);
        const row = changetype<Row>(this.value.row(last));
        row.worker = this.worker;
        row.rank = rank;
        row.renewedMs = nowMs;
        row.held = <u64>held;
      }
      const written = this.value.commit();
      if (written != Write.Conflict) return written == Write.Written;
    }
    return false;
  }
}

function isStale(row: Row, nowMs: u64): bool {
  return isPast(row.renewedMs, STALE_MS + 1, nowMs);
}
