// SPDX-License-Identifier: Apache-2.0
// The buckets of affinity: finds the entry of a boundary in the one that is open.
import { AffinityEntry } from "./affinity-entry";
import { BucketTable } from "./bucket-table";

export class EntryTable extends BucketTable {
  /** Index of the newest entry of a boundary under that head, or -1. */
  locate(key: u64, head: u32): i32 {
    for (let i = this.count - 1; i >= 0; i--) {
      const entry = this.entryAt(i);
      if (entry.key == key && entry.head == head) return i;
    }
    return -1;
  }

  /** Index of the newest entry of a boundary, whatever its head, or -1. */
  locateAnyHead(key: u64): i32 {
    for (let i = this.count - 1; i >= 0; i--) {
      if (this.entryAt(i).key == key) return i;
    }
    return -1;
  }

  /** The entry lives as long as its row. */
  entryAt(index: i32): AffinityEntry {
    return changetype<AffinityEntry>(this.row(index));
  }
}
