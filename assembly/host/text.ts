// SPDX-License-Identifier: Apache-2.0
// Names and values as the host takes them: UTF-8 bytes with an address and a size.

/** Text that is encoded once, at start or configuration, and passed to the host many times. */
@final
export class HostText {
  private readonly bytes: ArrayBuffer;

  constructor(text: string) {
    this.bytes = String.UTF8.encode(text);
  }

  get address(): usize {
    return changetype<usize>(this.bytes);
  }

  get size(): u32 {
    return <u32>this.bytes.byteLength;
  }

  /** Byte equality; header names arrive in lower case. */
  equals(address: usize, size: u32): bool {
    return size == this.size && memory.compare(address, this.address, size) == 0;
  }

  /** True when the `size` bytes at `address` begin with this text. */
  begins(address: usize, size: u32): bool {
    return size >= this.size && memory.compare(address, this.address, this.size) == 0;
  }
}
