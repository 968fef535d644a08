// SPDX-License-Identifier: Apache-2.0
// A request whose session and turn the client tells in headers: known before a byte of its body is read.
import { fold } from "../hash/mix";
import { SOURCE_HEADER } from "./identity";
import { Dialect, Reading, Request } from "./request";

/** Whether the headers tell all that routing needs. */
export function isTold(request: Request): bool {
  return request.identity.isTold && request.identity.turn > 0;
}

/**
 * Fills a request from its headers alone. Nothing is known of the text: no chain, no length, no model; the turn is
 * the client's word. Its session is a key of its own, apart from those of requests whose body was read.
 */
export function answerFromHeaders(request: Request, tenant: u64): void {
  const identity = request.identity;
  request.dialect = Dialect.None;
  request.reading = Reading.Conversation;
  request.turn = identity.turn;
  request.turnHint = identity.turn;
  request.items = 0;
  request.boundaryCount = 0;
  request.lastModelEndByte = -1;
  request.head = request.model = request.unsaltedModel = 0;
  request.headBytes = request.headTokens = 0;
  request.promptBytes = request.promptTokens = 0;
  request.ambiguous = request.openRun = request.stream = false;
  request.previousResponse = request.cohort = 0;
  request.historyHeld = true;
  request.session = fold(fold(tenant, identity.session), request.model);
  request.sessionSource = SOURCE_HEADER + identity.rank;
  const root = identity.root != 0 ? identity.root : identity.parent;
  request.program = fold(tenant, root != 0 ? root : identity.session);
}
