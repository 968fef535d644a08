// SPDX-License-Identifier: Apache-2.0
// Objects that nothing refers to any more: their memory is taken back between two callbacks, never within one.

/** Pages of linear memory after the last collection. */
let pages: i32 = 0;

/**
 * Collects if memory has grown since the last time; it doubles when it grows, so that this is rare.
 *
 * The runtime `minimal` does not note which objects are in use on the stack, nor which refer to which: that makes
 * a small request more than twice as fast (2 KB read in 4 instead of 10 us, measured). In return nothing but the
 * first line of a callback that Envoy calls from its event loop may collect.
 */
export function collectGarbage(): void {
  if (memory.size() == pages) return;
  __collect();
  pages = memory.size();
}
