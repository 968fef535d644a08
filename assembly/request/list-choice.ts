// SPDX-License-Identifier: Apache-2.0
// Which list of a body is the conversation, and so which wire format the body has.
import { Format } from "./dialects/format";
import { findFormat, formatAt, NO_FORMAT, outranks } from "./dialects/table";
import { PathKind } from "./paths";

export class ListChoice {
  /** Row of the format whose list was read, or NO_FORMAT. */
  row: i32 = NO_FORMAT;
  format: Format = formatAt(0);
  /** The list that counts came twice. */
  isRepeated: bool = false;
  private path: PathKind = PathKind.Unknown;

  begin(path: PathKind): void {
    this.path = path;
    this.row = NO_FORMAT;
    this.format = formatAt(0);
    this.isRepeated = false;
  }

  get isMade(): bool {
    return this.row != NO_FORMAT;
  }

  /**
   * A key that may hold the conversation. Of two, the one that the path speaks of counts, else the one with the
   * higher rank; of two equal ones the last, as in nearly every backend.
   */
  takes(key: u64): bool {
    const row = findFormat(key, this.path);
    if (row == NO_FORMAT) return false;
    if (row == this.row) this.isRepeated = true;
    else if (this.isMade && !outranks(row, this.row, this.path)) return false;
    this.row = row;
    this.format = formatAt(row);
    return true;
  }
}
