// SPDX-License-Identifier: Apache-2.0
// The single values of a body outside the conversation: model, salt, flags, session fields.
import { fold } from "../hash/mix";
import { hashName } from "../hash/text";
import { Token } from "../json/sink";
import { Place } from "./place";
import {
  CONVERSATION_ID,
  IdForm,
  sessionFieldForm,
  sessionFieldName,
  SESSION_FIELDS,
} from "./session-fields";
import { idHash } from "./session-id";

/** No field of the body names a session. */
export const NO_FIELD: i32 = -1;

const MAX_TURN: i32 = 1_000_000;
const METADATA_SESSION = hashName("metadata.session_id");
const MODEL: u64 = 0xcbbb9d5dc1059ed8;

export class BodyFields {
  stream: bool = false;
  /** The last item is to be continued. */
  continuesFinal: bool = false;
  /** Hash of the response whose history the server holds, or 0. */
  previousResponse: u64 = 0;
  /** The server holds a conversation. */
  conversationHeld: bool = false;
  /** Turn that the client tells, or 0. */
  turnHint: i32 = 0;
  /** Hash of the id of the session that started this one, or 0. */
  parentId: u64 = 0;
  /** Hash of a key that many sessions share, or 0. */
  cohort: u64 = 0;
  /** Rank of the best session field so far, and the hash of its id. */
  sessionField: i32 = NO_FIELD;
  sessionId: u64 = 0;

  private model: u64 = 0;
  private adapter: u64 = 0;
  private salt: u64 = 0;

  clear(): void {
    this.stream = this.continuesFinal = this.conversationHeld = false;
    this.previousResponse = this.cohort = this.sessionId = this.parentId = 0;
    this.turnHint = 0;
    this.model = this.adapter = this.salt = 0;
    this.sessionField = NO_FIELD;
  }

  /** Model, adapter and salt: KV cache is never shared across different ones. */
  get modelTag(): u64 {
    return fold(fold(fold(MODEL, this.model), this.adapter), this.salt);
  }

  /** The same as without a salt: who computes does not depend on it. */
  get unsaltedModelTag(): u64 {
    return fold(fold(fold(MODEL, this.model), this.adapter), 0);
  }

  takeText(place: Place, token: Token): void {
    const hash = token.bytes > 0 ? token.hash : 0;
    switch (place) {
      case Place.Model:
        this.model = hash;
        break;
      case Place.Adapter:
        this.adapter = hash;
        break;
      case Place.CacheSalt:
        this.salt = hash;
        break;
      case Place.PreviousResponse:
        this.previousResponse = hash;
        break;
      case Place.Cohort:
        this.cohort = hash;
        break;
      case Place.TurnHint:
        this.takeTurn(numberIn(token.text, token.textBytes));
        break;
      case Place.Conversation:
        this.takeSession(CONVERSATION_ID, token);
        break;
      case Place.ParentId:
        this.takeParent(token);
        break;
      default:
        if (place >= Place.Session) this.takeSession(<i32>place - <i32>Place.Session, token);
    }
  }

  takeFlag(place: Place, isTrue: bool): void {
    if (place == Place.Stream) this.stream = isTrue;
    else if (place == Place.ContinueFinal) this.continuesFinal = isTrue;
  }

  /** A turn comes as a number or, as metadata demand it, as a text. */
  takeTurn(value: f64): void {
    if (value >= 1 && value <= <f64>MAX_TURN) this.turnHint = <i32>value;
  }

  /** The parent's own key: it names itself in `metadata.session_id`. */
  private takeParent(token: Token): void {
    const id = idHash(token.text, token.textBytes, IdForm.Plain);
    if (id != 0) this.parentId = fold(METADATA_SESSION, id);
  }

  private takeSession(rank: i32, token: Token): void {
    const id = idHash(token.text, token.textBytes, sessionFieldForm(rank));
    if (id == 0) return;
    if (rank == CONVERSATION_ID) this.conversationHeld = true;
    if (this.sessionField != NO_FIELD && this.sessionField < rank) return;
    this.sessionField = rank;
    this.sessionId = fold(unchecked(FIELD_HASHES[rank]), id);
  }
}

/** Ids of different fields are different, even if they read the same. */
const FIELD_HASHES: StaticArray<u64> = fieldHashes();

function fieldHashes(): StaticArray<u64> {
  const hashes = new StaticArray<u64>(SESSION_FIELDS);
  for (let rank = 0; rank < SESSION_FIELDS; rank++) hashes[rank] = hashName(sessionFieldName(rank));
  return hashes;
}

/** Value of a decimal number, 0 for any other text. */
function numberIn(address: usize, bytes: i32): f64 {
  let value: f64 = 0;
  for (let i = 0; i < bytes; i++) {
    const digit = <i32>load<u8>(address + i) - 0x30;
    if (digit < 0 || digit > 9) return 0;
    value = value * 10 + <f64>digit;
  }
  return value;
}
