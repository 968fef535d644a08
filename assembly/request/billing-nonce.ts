// SPDX-License-Identifier: Apache-2.0
// The system block that Claude Code writes anew for every call. Engines that know it leave it out of the prompt.

const NONCE = String.UTF8.encode("x-anthropic-billing-header:");

/** Whether a system text is that block. */
export function startsNonce(text: usize, textBytes: i32): bool {
  const size = NONCE.byteLength;
  return textBytes >= size && memory.compare(text, changetype<usize>(NONCE), size) == 0;
}
