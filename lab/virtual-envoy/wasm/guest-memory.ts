// SPDX-License-Identifier: Apache-2.0
// The linear memory of one guest: bounds-checked reads and writes that survive its growth.

export class GuestMemory {
  private bytes: Buffer = Buffer.alloc(0);

  constructor(private readonly memory: WebAssembly.Memory) {}

  get sizeBytes(): number {
    return this.memory.buffer.byteLength;
  }

  /** The whole memory as it is now: a view that dies when the guest allocates. */
  view(): Buffer {
    const current = this.memory.buffer;
    if (this.bytes.buffer !== current) this.bytes = Buffer.from(current);
    return this.bytes;
  }

  contains(start: number, size: number): boolean {
    return start >= 0 && size >= 0 && start + size <= this.memory.buffer.byteLength;
  }

  /** Bytes as a string of one character each, or undefined when out of bounds. */
  text(start: number, size: number): string | undefined {
    if (!this.contains(start, size)) return undefined;
    return this.view().toString("latin1", start, start + size);
  }

  /** A view of the range, or undefined when out of bounds. */
  slice(start: number, size: number): Buffer | undefined {
    if (!this.contains(start, size)) return undefined;
    return this.view().subarray(start, start + size);
  }

  writeWord(address: number, value: number): boolean {
    if (!this.contains(address, 4)) return false;
    this.view().writeUInt32LE(value >>> 0, address);
    return true;
  }

  writeLong(address: number, value: bigint): boolean {
    if (!this.contains(address, 8)) return false;
    this.view().writeBigUInt64LE(value, address);
    return true;
  }
}
