// SPDX-License-Identifier: Apache-2.0
// Clusters that any worker has a fleet for, so that a VM without traffic of its own can look after their gauges.
import { PackedValue } from "./packed-value";
import { isDue } from "./roster";
import { SharedStore, Write, WRITE_ATTEMPTS } from "./shared-store";

const MAX_CLUSTERS: i32 = 64;
const NAME_BYTES: i32 = 127;
const FORMAT: u16 = 0x0106;
const REFRESH_MS: u64 = 1_000;

/** Names are listed once and stay; a cluster beyond the last row is looked after by its own workers alone. */
export class ClusterList {
  private value: PackedValue;
  private readMs: u64 = 0;

  constructor(store: SharedStore) {
    this.value = new PackedValue(store, "c", FORMAT, NAME_BYTES + 1, MAX_CLUSTERS);
  }

  /** Lists a cluster. Call when its fleet is made. */
  note(name: usize, size: i32): void {
    if (size <= 0 || size > NAME_BYTES) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.value.edit(0);
      const index = this.value.count;
      if (index >= MAX_CLUSTERS || this.lists(name, size)) return;
      this.value.extend(index + 1);
      const row = this.value.row(index);
      store<u8>(row, <u8>size);
      memory.copy(row + 1, name, <usize>size);
      if (this.value.commit() != Write.Conflict) return;
    }
  }

  /** Reads the list, at most once a second. True when it was read; the names stay until the next call. */
  refresh(nowMs: u64): bool {
    if (!isDue(this.readMs, REFRESH_MS, nowMs)) return false;
    this.readMs = nowMs;
    this.value.edit(0);
    return true;
  }

  get count(): i32 {
    return this.value.count;
  }

  nameOf(index: i32): usize {
    return this.value.row(index) + 1;
  }

  nameSizeOf(index: i32): i32 {
    return min(<i32>load<u8>(this.value.row(index)), NAME_BYTES);
  }

  private lists(name: usize, size: i32): bool {
    for (let i = 0; i < this.value.count; i++) {
      const same = this.nameSizeOf(i) == size;
      if (same && memory.compare(this.nameOf(i), name, <usize>size) == 0) return true;
    }
    return false;
  }
}
