// SPDX-License-Identifier: Apache-2.0
// A hash table of a fixed number of buckets, one shared value each: oldest out, newcomers on probation.
import { HEADER_BYTES, PackedValue } from "./packed-value";
import { SharedStore } from "./shared-store";

/** How many rows of a table lie in how many buckets. */
export class BucketSizes {
  /**
   * @param meanRows live rows that a bucket has on average once the table holds as many as it is made for
   * @param fewestBuckets of a table however small
   */
  constructor(
    readonly rowBytes: i32,
    readonly liveRows: i32,
    readonly probationRows: i32,
    private readonly meanRows: i32,
    private readonly fewestBuckets: i32 = 1,
  ) {}

  /** Buckets of a table for that many rows. */
  bucketsFor(rows: i32): u32 {
    return <u32>max(this.fewestBuckets, (rows + this.meanRows - 1) / this.meanRows);
  }

  /** Most bytes that the values of such a table can take in the store, keys and Envoy's own overhead left out. */
  capacityBytes(rows: i32): u64 {
    const bucketBytes = HEADER_BYTES + this.rowBytes * (this.liveRows + this.probationRows);
    return <u64>this.bucketsFor(rows) * <u64>bucketBytes;
  }
}

/**
 * A bucket holds its live rows first, then those on probation, each oldest to newest. What has been seen once goes
 * on probation; being seen again makes it live. A flood of single-use rows so pushes out only its own kind.
 */
export class BucketTable extends PackedValue {
  private spareRow: StaticArray<u8>;
  private buckets: u32;
  private liveCapacity: i32;
  private probationCapacity: i32;

  /** @param rows live rows that the table is made for */
  constructor(store: SharedStore, name: string, format: u16, sizes: BucketSizes, rows: i32) {
    super(store, name, format, sizes.rowBytes, sizes.liveRows + sizes.probationRows);
    this.spareRow = new StaticArray<u8>(sizes.rowBytes);
    this.buckets = sizes.bucketsFor(rows);
    this.liveCapacity = sizes.liveRows;
    this.probationCapacity = sizes.probationRows;
  }

  /** Looks at the bucket of a hash, until the next read of the store. */
  openFor(hash: u64): void {
    this.open(this.bucketOf(hash));
    this.bound();
  }

  /** Opens the bucket of a hash for changes: `commit` writes them. */
  editFor(hash: u64): void {
    this.edit(this.bucketOf(hash));
    this.bound();
  }

  isLive(index: i32): bool {
    return index < <i32>this.mark;
  }

  /** Whether two hashes choose the same bucket. */
  isSameBucket(hash: u64, other: u64): bool {
    return hash == other || this.bucketOf(hash) == this.bucketOf(other);
  }

  /** The next `insert` into that segment makes the oldest there go. */
  isFull(live: bool): bool {
    const mark = <i32>this.mark;
    return live ? mark >= this.liveCapacity : this.count - mark >= this.probationCapacity;
  }

  /** Adds a zeroed row as the newest of its segment and returns its address; the oldest there makes room. */
  insert(live: bool): usize {
    if (live) {
      if (this.isFull(true)) this.remove(0);
      const row = this.insertRow(<i32>this.mark);
      this.mark++;
      return row;
    }
    if (this.isFull(false)) this.remove(<i32>this.mark);
    return this.insertRow(this.count);
  }

  /** Makes a row on probation the newest live one. Returns its index then. */
  promote(index: i32): i32 {
    const bytes = <usize>this.rowBytes;
    memory.copy(changetype<usize>(this.spareRow), this.row(index), bytes);
    this.remove(index);
    memory.copy(this.insert(true), changetype<usize>(this.spareRow), bytes);
    return <i32>this.mark - 1;
  }

  remove(index: i32): void {
    if (this.isLive(index)) this.mark--;
    this.removeRow(index);
  }

  protected bucketOf(hash: u64): u32 {
    return <u32>((hash >> 16) % this.buckets);
  }

  /** A damaged mark must not reach the arithmetic. */
  protected bound(): void {
    const count = <u32>this.count;
    const fits =
      this.mark <= count &&
      <i32>this.mark <= this.liveCapacity &&
      this.count - <i32>this.mark <= this.probationCapacity;
    if (fits) return;
    this.count = 0;
    this.mark = 0;
  }
}
