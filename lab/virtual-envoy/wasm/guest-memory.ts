// SPDX-License-Identifier: Apache-2.0
// The linear memory of one guest: bounds-checked reads and writes that survive its growth.

export class GuestMemory {
  private bytes: Buffer = Buffer.alloc(0);
  private words: DataView = new DataView(new ArrayBuffer(0));

  constructor(private readonly memory: WebAssembly.Memory) {}

  get sizeBytes(): number {
    return this.view().length;
  }

  /** The whole memory as it is now: a view that dies when the guest allocates. */
  view(): Buffer {
    if (this.bytes.length === 0) this.attach(); // Growth detaches a view, which makes it empty.
    return this.bytes;
  }

  contains(start: number, size: number): boolean {
    return start >= 0 && size >= 0 && start + size <= this.view().length;
  }

  /** Bytes as a string of one character each, or undefined when out of bounds. */
  text(start: number, size: number): string | undefined {
    if (!this.contains(start, size)) return undefined;
    return this.bytes.toString("latin1", start, start + size);
  }

  /** A view of the range, or undefined when out of bounds. */
  slice(start: number, size: number): Buffer | undefined {
    if (!this.contains(start, size)) return undefined;
    return this.bytes.subarray(start, start + size);
  }

  writeWord(address: number, value: number): boolean {
    if (!this.contains(address, 4)) return false;
    this.words.setUint32(address, value, true);
    return true;
  }

  writeLong(address: number, value: bigint): boolean {
    if (!this.contains(address, 8)) return false;
    this.words.setBigUint64(address, value, true);
    return true;
  }

  private attach(): void {
    const { buffer } = this.memory;
    this.bytes = Buffer.from(buffer);
    this.words = new DataView(buffer);
  }
}
