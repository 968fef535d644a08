// SPDX-License-Identifier: Apache-2.0
// Words that JSON texts may hold outside quotes, at addresses to compare with.

export const TRUE: usize = memory.data<u8>([0x74, 0x72, 0x75, 0x65]);
export const FALSE: usize = memory.data<u8>([0x66, 0x61, 0x6c, 0x73, 0x65]);
export const NULL: usize = memory.data<u8>([0x6e, 0x75, 0x6c, 0x6c]);
export const NAN: usize = memory.data<u8>([0x4e, 0x61, 0x4e]);
export const MINUS_INFINITY: usize = memory.data<u8>([
  0x2d, 0x49, 0x6e, 0x66, 0x69, 0x6e, 0x69, 0x74, 0x79,
]);
/** The byte order mark of UTF-8. */
export const BOM: usize = memory.data<u8>([0xef, 0xbb, 0xbf]);
