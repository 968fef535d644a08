// SPDX-License-Identifier: Apache-2.0
// A queue of byte slices, as Envoy's buffers are: moved between holders, never flattened.

export class ByteBuffer {
  private slices: Uint8Array[] = [];
  private sizeBytes = 0;

  static of(bytes: Uint8Array): ByteBuffer {
    const buffer = new ByteBuffer();
    buffer.add(bytes);
    return buffer;
  }

  get length(): number {
    return this.sizeBytes;
  }

  add(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.slices.push(bytes);
    this.sizeBytes += bytes.length;
  }

  prepend(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.slices.unshift(bytes);
    this.sizeBytes += bytes.length;
  }

  /** Takes everything out of `other`. */
  moveFrom(other: ByteBuffer): void {
    for (const slice of other.take()) this.add(slice);
  }

  /** Empties the buffer and hands over its slices. */
  take(): Uint8Array[] {
    const taken = this.slices;
    this.slices = [];
    this.sizeBytes = 0;
    return taken;
  }

  /** Copies `length` bytes from `start` on into `target`; the range must lie inside. */
  copyOut(start: number, length: number, target: Uint8Array): void {
    let skip = start;
    let written = 0;
    for (const slice of this.slices) {
      if (written === length) return;
      if (skip >= slice.length) {
        skip -= slice.length;
        continue;
      }
      const part = slice.subarray(skip, skip + length - written);
      target.set(part, written);
      written += part.length;
      skip = 0;
    }
  }
}
