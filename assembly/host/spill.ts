// SPDX-License-Identifier: Apache-2.0
// The module's malloc as the host sees it, and the heap block of the one answer that did not fit.

/** Readable bytes behind an answer on the heap: texts are hashed a vector at a time. */
const MARGIN: usize = 128;

let target: usize = 0;
let room: u32 = 0;
let block: usize = 0;

/** Sends the next answer to `address`, and frees what the answer before it had to take from the heap. */
export function retarget(address: usize, capacity: u32): void {
  target = address;
  room = capacity;
  if (block == 0) return;
  heap.free(block);
  block = 0;
}

/** Memory for one value of `size` bytes that the host is about to return. */
export function allocateForHost(size: u32): usize {
  if (target != 0 && size <= room) {
    const address = target;
    target = 0; // One aim serves one answer.
    return address;
  }
  if (block != 0) heap.free(block);
  block = heap.alloc(<usize>size + MARGIN);
  return block;
}
