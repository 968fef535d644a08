// SPDX-License-Identifier: Apache-2.0
// What feeding bytes to a scanner or a reader comes to.

export enum Progress {
  /** The document has not ended. */
  NeedMore = 0,
  /** The document has ended; nothing but white space may follow. */
  Done = 1,
  /** Not JSON, or bytes after the document. It stays so. */
  Malformed = 2,
}
