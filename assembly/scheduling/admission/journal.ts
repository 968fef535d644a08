// SPDX-License-Identifier: Apache-2.0
// What one worker did at endpoints and has not told the others yet: deeds one after the other, each as short as it is.
import { bytesOf, Deed, DeedKind } from "./deed";
import { EndpointState } from "./endpoint-state";

/** Deeds of about four hundred requests. */
const JOURNAL_BYTES: i32 = 64 * 1024;


@final
export class Journal {
  /** Bytes in use: a deed begins at each place from 0 on that `after` leads to. */
  size: i32 = 0;
  private readonly bytes: StaticArray<u8> = new StaticArray<u8>(JOURNAL_BYTES);
  private readonly replayed: Deed = new Deed();

  /** One more deed of any kind has room. */
  get hasRoom(): bool {
    return this.size + bytesOf(DeedKind.End) <= JOURNAL_BYTES;
  }

  /** Writes a deed down; the caller has made room. */
  add(deed: Deed): void {
    const bytes = bytesOf(deed.kind);
    memory.copy(this.addressOf(this.size), changetype<usize>(deed), bytes);
    this.size += bytes;
  }

  slotAt(place: i32): i32 {
    return load<i32>(this.addressOf(place), offsetof<Deed>("slot"));
  }

  /** Place of the deed behind that one. */
  after(place: i32): i32 {
    return place + bytesOf(this.kindAt(place));
  }

  /** Does again what was done at one endpoint, on what others have made of it. */
  perform(slot: i32, endpoint: EndpointState): void {
    const deed = this.replayed;
    for (let place = 0; place < this.size; place = this.after(place)) {
      if (this.slotAt(place) != slot) continue;
      const bytes = bytesOf(this.kindAt(place));
      memory.copy(changetype<usize>(deed), this.addressOf(place), bytes);
      deed.perform(endpoint);
    }
  }

  /** Takes out the deeds at endpoints whose number here is this one; the others keep their order. */
  forget(marks: StaticArray<u32>, mark: u32): void {
    let kept = 0;
    let place = 0;
    while (place < this.size) {
      const bytes = bytesOf(this.kindAt(place));
      if (marks[this.slotAt(place)] != mark) {
        if (kept < place) memory.copy(this.addressOf(kept), this.addressOf(place), bytes);
        kept += bytes;
      }
      place += bytes;
    }
    this.size = kept;
  }

  private kindAt(place: i32): DeedKind {
    return load<i32>(this.addressOf(place), offsetof<Deed>("kind"));
  }

  private addressOf(place: i32): usize {
    return changetype<usize>(this.bytes) + <usize>place;
  }
}
