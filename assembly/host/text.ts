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
    return size == this.size && isSame(address, this.address, size);
  }

  /** True when the `size` bytes at `address` begin with this text. */
  begins(address: usize, size: u32): bool {
    return size >= this.size && isSame(address, this.address, this.size);
  }
}

/**
 * `memory.compare` in words, which it takes only where both texts are aligned alike: a dozen names are compared for
 * each message.
 */
function isSame(a: usize, b: usize, size: u32): bool {
  if (size < 4) return memory.compare(a, b, size) == 0;
  const last = <usize>size - 4;
  for (let i: usize = 0; i < last; i += 4) {
    if (load<u32>(a + i) != load<u32>(b + i)) return false;
  }
  return load<u32>(a + last) == load<u32>(b + last);
}
