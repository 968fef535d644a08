// SPDX-License-Identifier: Apache-2.0
// One value of the shared store: a header and rows of a fixed size. What does not look like it counts as empty.
import { KeptBuckets } from "./kept-buckets";
import { ABSENT, SharedStore, Write } from "./shared-store";

/** "SMTR", little endian. */
const MAGIC: u32 = 0x52544d53;
export const HEADER_BYTES: i32 = 16;
const INDEX_DIGITS: i32 = 8;
const KEY_PREFIX: string = "smetric.";


@unmanaged
class Header {
  magic: u32;
  /** Kind and layout of the rows; a writer of another version of the filter has another one. */
  format: u16;
  rowBytes: u16;
  count: u16;
  /** Both free for the kind of table. */
  note: u16;
  mark: u32;
}

/** Base of everything kept in the store. Rows are reached by address, so nothing is allocated per access. */
export class PackedValue {
  /** Rows of the open value. */
  count: i32 = 0;
  /** Two numbers kept in the header for the kind of table. */
  mark: u32 = 0;
  note: u16 = 0;
  /** The last read found a value that this kind of table wrote. */
  isOurs: bool = false;
  /** It found something else: an older or foreign writer's. */
  isForeign: bool = false;
  private rows: usize = 0;
  private version: u32 = ABSENT;
  private index: u32 = 0;
  /** The scratch holds the value of `index` as this object last read or wrote it. */
  private kept: bool = false;
  private keptCount: i32 = 0;
  private key: StaticArray<u8>;
  private stem: i32;
  private scratch: StaticArray<u8>;

  /** `name` is short ASCII: the keys are `smetric.` + name + eight hexadecimal digits of the index. */
  constructor(
    protected store: SharedStore,
    name: string,
    private format: u16,
    protected rowBytes: i32,
    readonly capacity: i32,
  ) {
    const stem = KEY_PREFIX + name;
    const key = new StaticArray<u8>(stem.length + INDEX_DIGITS);
    String.UTF8.encodeUnsafe(changetype<usize>(stem), stem.length, changetype<usize>(key));
    this.key = key;
    this.stem = stem.length;
    this.scratch = new StaticArray<u8>(HEADER_BYTES + rowBytes * capacity);
  }

  /** Reads a value to look at; its rows are valid until the next read of the store. */
  open(index: u32): void {
    this.read(index);
    this.rows = this.store.data + HEADER_BYTES;
  }

  /** Looks at a value as this object kept or wrote it last, without a read; false where that was another one. */
  openKept(index: u32): bool {
    if (!this.kept || this.index != index) return false;
    this.rows = changetype<usize>(this.scratch) + HEADER_BYTES;
    this.count = this.keptCount;
    return true;
  }

  /** Reads a value to look at now, and again by `openKept`. */
  keep(index: u32): void {
    this.edit(index);
    this.kept = true;
    this.keptCount = this.count;
  }

  /** Goes on to write anew what `open` has read last, as so many rows that the caller fills: they are this object's own. */
  rewrite(index: u32, rows: i32): void {
    this.index = index;
    this.kept = false;
    this.rows = changetype<usize>(this.scratch) + HEADER_BYTES;
    this.count = min(rows, this.capacity);
  }

  /** Reads a value to change; its rows are this object's own until the next `edit`. */
  edit(index: u32): void {
    this.read(index);
    this.beginEdit(index, this.store.data);
  }

  /** Copies the value that `open` read for `editKept`, and answers where to. */
  protected keepFor(index: u32, kept: KeptBuckets): i32 {
    return kept.keep(index, this.store.data, this.store.size, this.version);
  }

  /** Opens a value for changes as it was kept, without a read; false where it is not any more. */
  protected editKept(index: u32, kept: KeptBuckets, place: i32): bool {
    if (!kept.take(place, index)) return false;
    this.writeIndex(index);
    this.version = kept.versionAt(place);
    this.parse(kept.dataAt(place), kept.sizeAt(place), this.version != ABSENT);
    this.beginEdit(index, kept.dataAt(place));
    return true;
  }

  /** Address of a row of the open value. */
  row(index: i32): usize {
    return this.rows + <usize>(index * this.rowBytes);
  }

  /** Adds zeroed rows at the end up to that count, at most `capacity`. Only while editing. */
  extend(count: i32): void {
    const wanted = min(count, this.capacity);
    if (wanted <= this.count) return;
    memory.fill(this.row(this.count), 0, <usize>((wanted - this.count) * this.rowBytes));
    this.count = wanted;
  }

  /** Opens a gap of one zeroed row before `index`; the caller has made room. Only while editing. */
  insertRow(index: i32): usize {
    const at = this.row(index);
    const rowBytes = <usize>this.rowBytes;
    memory.copy(at + rowBytes, at, <usize>(this.count - index) * rowBytes);
    memory.fill(at, 0, rowBytes);
    this.count++;
    return at;
  }

  removeRow(index: i32): void {
    const at = this.row(index);
    const rowBytes = <usize>this.rowBytes;
    this.count--;
    memory.copy(at, at + rowBytes, <usize>(this.count - index) * rowBytes);
  }

  /** Writes what `edit` began, unless somebody else wrote meanwhile. */
  commit(): Write {
    const start = changetype<usize>(this.scratch);
    const header = changetype<Header>(start);
    header.magic = MAGIC;
    header.format = this.format;
    header.rowBytes = <u16>this.rowBytes;
    header.count = <u16>this.count;
    header.note = this.note;
    header.mark = this.mark;
    const size = HEADER_BYTES + this.count * this.rowBytes;
    const outcome = this.store.write(this.keyAddress, this.key.length, start, size, this.version);
    this.kept = outcome == Write.Written;
    this.keptCount = this.count;
    return outcome;
  }

  private get keyAddress(): usize {
    return changetype<usize>(this.key);
  }

  private read(index: u32): void {
    this.writeIndex(index);
    const store = this.store;
    const found = store.read(this.keyAddress, this.key.length);
    this.version = store.version;
    this.parse(store.data, store.size, found);
  }

  private beginEdit(index: u32, data: usize): void {
    this.index = index;
    this.kept = false;
    const own = changetype<usize>(this.scratch) + HEADER_BYTES;
    memory.copy(own, data + HEADER_BYTES, <usize>(this.count * this.rowBytes));
    this.rows = own;
  }

  private parse(data: usize, size: i32, found: bool): void {
    this.count = 0;
    this.mark = 0;
    this.note = 0;
    this.isOurs = false;
    this.isForeign = found;
    if (!found || size < HEADER_BYTES) return;
    const header = changetype<Header>(data);
    const count = <i32>header.count;
    const ours =
      header.magic == MAGIC &&
      header.format == this.format &&
      <i32>header.rowBytes == this.rowBytes &&
      count <= this.capacity &&
      size == HEADER_BYTES + count * this.rowBytes;
    if (!ours) return;
    this.isOurs = true;
    this.isForeign = false;
    this.count = count;
    this.mark = header.mark;
    this.note = header.note;
  }

  private writeIndex(index: u32): void {
    let at = this.keyAddress + <usize>this.stem;
    for (let shift = 28; shift >= 0; shift -= 4) {
      const digit = (index >> shift) & 15;
      store<u8>(at++, <u8>(digit < 10 ? 48 + digit : 87 + digit));
    }
  }
}
