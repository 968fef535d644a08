// SPDX-License-Identifier: Apache-2.0
// A look at the allocator, for specs of code that must not allocate.

/** Blocks of several sizes that the allocator hands out next: equal before and after code that allocates nothing. */
export function nextFreeBlocks(): usize {
  let sum: usize = 0;
  for (let size: usize = 12; size <= 4096; size *= 2) {
    const block = heap.alloc(size);
    sum = sum * 31 + block;
    heap.free(block);
  }
  return sum;
}
