// SPDX-License-Identifier: Apache-2.0
// What the request headers of one stream say, gathered in one walk over the map.
import { HeaderCursor, removeHeader } from "../host/headers";
import { HeaderMapType } from "../host/status";
import { HostText } from "../host/text";
import { fold } from "../hash/mix";
import { hashText } from "../hash/text";
import { isDecisionName } from "./decision-headers";
import {
  AUTHORITY,
  CONTENT_ENCODING,
  CONTENT_LENGTH,
  IDENTITY,
  METHOD,
  OWN_PREFIX,
  PATH,
  POST,
} from "./header-names";

const COLON: u8 = 0x3a;
const LOWER_C: u8 = 0x63;
const ZERO: u32 = 0x30;

/** Longest content-length that is worth reading: ten digits are 9 GB. */
const MAX_LENGTH_DIGITS: u32 = 10;

/** No content-length: HTTP/2 without one, or chunked. */
export const UNKNOWN_LENGTH: i64 = -1;

/** Most own headers of a client that are removed in one walk. */
const MAX_FORGED: i32 = 64;

/** Reused for each request: filled in proxy_on_request_headers and read there only. */
@final
export class RequestHead {
  isPost: bool = false;
  pathAddress: usize = 0;
  pathSize: u32 = 0;
  private authorityAddress: usize = 0;
  private authoritySize: u32 = 0;
  contentLength: i64 = UNKNOWN_LENGTH;
  /** The body is compressed: its bytes are not JSON. */
  encoded: bool = false;
  /** How many headers of our own the client sent. */
  forged: i32 = 0;
  // Headers without our prefix that only the filter may write; empty = none.
  /** The engine's priority. */
  priority: HostText = new HostText("");
  /** What names the prefill endpoint. */
  prefill: HostText = new HostText("");
  private readonly forgedNames: StaticArray<usize> = new StaticArray<usize>(MAX_FORGED);
  private readonly forgedSizes: StaticArray<u32> = new StaticArray<u32>(MAX_FORGED);

  reset(): void {
    this.isPost = false;
    this.pathAddress = 0;
    this.pathSize = 0;
    this.authoritySize = 0;
    this.contentLength = UNKNOWN_LENGTH;
    this.encoded = false;
    this.forged = 0;
  }

  /** Takes note of the header under the cursor. */
  note(header: HeaderCursor): void {
    if (header.nameSize == 0) return;
    const first = load<u8>(header.nameAddress);
    this.noteForged(header);
    if (first == LOWER_C) this.noteContent(header);
    else if (first == COLON) this.notePseudo(header);
  }

  /**
   * Removes what only the filter may write. Its names still lie in the cursor's buffer.
   * @param overwrites names of the decision may stay: the filter writes them before the request goes on
   * @returns true where such a name has stayed
   */
  removeForged(overwrites: bool): bool {
    let stays = false;
    for (let i = 0; i < this.forged; i++) {
      const name = this.forgedNames[i];
      const size = this.forgedSizes[i];
      if (overwrites && isDecisionName(name, size)) stays = true;
      else removeHeader(HeaderMapType.Request, name, size);
    }
    return stays;
  }

  /** The batch was full: there may be more forged headers behind it. */
  get mayHaveMore(): bool {
    return this.forged == MAX_FORGED;
  }

  /** Hash of host and path: what routes nearly always go by. */
  get routeKey(): u64 {
    const host = hashText(this.authorityAddress, <i32>this.authoritySize);
    return fold(host, hashText(this.pathAddress, <i32>this.pathSize));
  }

  private notePseudo(header: HeaderCursor): void {
    if (METHOD.equals(header.nameAddress, header.nameSize)) {
      this.isPost = POST.equals(header.valueAddress, header.valueSize);
    } else if (PATH.equals(header.nameAddress, header.nameSize)) {
      this.pathAddress = header.valueAddress;
      this.pathSize = header.valueSize;
    } else if (AUTHORITY.equals(header.nameAddress, header.nameSize)) {
      this.authorityAddress = header.valueAddress;
      this.authoritySize = header.valueSize;
    }
  }

  private noteContent(header: HeaderCursor): void {
    if (CONTENT_LENGTH.equals(header.nameAddress, header.nameSize)) {
      this.contentLength = parseNumber(header.valueAddress, header.valueSize);
    } else if (CONTENT_ENCODING.equals(header.nameAddress, header.nameSize)) {
      this.encoded =
        header.valueSize > 0 && !IDENTITY.equals(header.valueAddress, header.valueSize);
    }
  }

  /** Whether only the filter may write a header of this name. */
  isOurs(name: usize, size: u32): bool {
    return (
      OWN_PREFIX.begins(name, size) ||
      this.priority.equals(name, size) ||
      this.prefill.equals(name, size)
    );
  }

  private noteForged(header: HeaderCursor): void {
    if (this.forged == MAX_FORGED || !this.isOurs(header.nameAddress, header.nameSize)) return;
    this.forgedNames[this.forged] = header.nameAddress;
    this.forgedSizes[this.forged] = header.nameSize;
    this.forged++;
  }
}

/** A decimal number of at most ten digits, or UNKNOWN_LENGTH. */
export function parseNumber(address: usize, size: u32): i64 {
  if (size == 0 || size > MAX_LENGTH_DIGITS) return UNKNOWN_LENGTH;
  let length: i64 = 0;
  for (let i: u32 = 0; i < size; i++) {
    const digit = <u32>load<u8>(address + i) - ZERO;
    if (digit > 9) return UNKNOWN_LENGTH;
    length = length * 10 + digit;
  }
  return length;
}
