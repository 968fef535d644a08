// SPDX-License-Identifier: Apache-2.0
// Where the host's answers land: it asks the module for memory for every value it returns.
//
// Each call site first aims at a buffer of its own that lives as long as the VM, so that the usual answer costs
// no allocation. An answer that does not fit gets a heap block that lives until the next aim.
import { retarget } from "./spill";

/** A long-lived buffer for answers of one kind. The bytes are valid until the next call that aims at it. */
@final
export class Landing {
  private readonly block: ArrayBuffer;
  /** Address of the last answer. */
  address: usize = 0;
  /** Size of the last answer in bytes. */
  size: u32 = 0;

  /**
   * @param capacity bytes that an answer may have without a heap allocation
   * @param margin usable bytes before and after the answer
   */
  constructor(
    readonly capacity: u32,
    readonly margin: u32 = 0,
  ) {
    this.block = new ArrayBuffer(capacity + 2 * margin);
  }

  /** The next value that the host returns lands here. */
  aim(): void {
    retarget(changetype<usize>(this.block) + this.margin, this.capacity);
  }

  /** Notes where the answer is; called right after the host call. */
  landed(address: usize, size: u32): void {
    this.address = address;
    this.size = size;
  }
}

/** Out-parameters of host calls: one static cell each. */
export const outAddress: usize = memory.data(8);
export const outSize: usize = memory.data(8);
