// SPDX-License-Identifier: Apache-2.0
// What the response headers of one stream say; what speaks in the filter's name is stripped on the way.
import { HeaderCursor, removeHeader } from "../host/headers";
import { HeaderMapType } from "../host/status";
import { AnswerKind, answerKindOf } from "../response/answer-kind";
import {
  CONTENT_ENCODING,
  CONTENT_TYPE,
  ENDPOINT_HEADER,
  OWN_PREFIX,
  SERVICE_TIME,
  STATUS,
} from "./header-names";
import { parseNumber } from "./request-head";

/** Reused for each response: filled in proxy_on_response_headers and read there only. */
@final
export class AnswerHead {
  status: i64 = 0;
  kind: AnswerKind = AnswerKind.Unknown;
  /** Envoy timed an upstream: the answer is no local reply. Operators can switch the header off. */
  isTimed: bool = false;
  /** stateful_session says which endpoint answered: not the pinned one, or none was pinned. */
  namesEndpoint: bool = false;
  private typeAddress: usize = 0;
  private typeSize: u32 = 0;
  private encodingAddress: usize = 0;
  private encodingSize: u32 = 0;

  get isSuccess(): bool {
    return this.status >= 200 && this.status < 300;
  }

  /**
   * Walks the map once. With `strip`, headers of our own name go: an upstream may not speak for the filter, and
   * stateful_session answers with the endpoint's address.
   */
  read(headers: HeaderCursor, strip: bool): void {
    this.status = 0;
    this.isTimed = false;
    this.namesEndpoint = false;
    this.typeSize = 0;
    this.encodingSize = 0;
    this.kind = AnswerKind.Unknown;
    if (!headers.read(HeaderMapType.Response)) return;
    while (headers.next()) this.note(headers, strip);
    this.kind = answerKindOf(
      this.typeAddress,
      <i32>this.typeSize,
      this.encodingAddress,
      <i32>this.encodingSize,
    );
  }

  private note(header: HeaderCursor, strip: bool): void {
    const address = header.nameAddress;
    const size = header.nameSize;
    if (OWN_PREFIX.begins(address, size)) {
      this.namesEndpoint = this.namesEndpoint || ENDPOINT_HEADER.equals(address, size);
      if (strip) removeHeader(HeaderMapType.Response, address, size);
    } else if (STATUS.equals(address, size)) {
      this.status = parseNumber(header.valueAddress, header.valueSize);
    } else if (CONTENT_TYPE.equals(address, size)) {
      this.typeAddress = header.valueAddress;
      this.typeSize = header.valueSize;
    } else if (SERVICE_TIME.equals(address, size)) {
      this.isTimed = true;
    } else if (CONTENT_ENCODING.equals(address, size)) {
      this.encodingAddress = header.valueAddress;
      this.encodingSize = header.valueSize;
    }
  }
}
