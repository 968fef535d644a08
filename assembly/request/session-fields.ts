// SPDX-License-Identifier: Apache-2.0
// Fields of a body that name the session, in the order in which they are believed.
import { Grammar } from "./grammar";
import { Place } from "./place";

/** How the text of a field becomes an id. */
export enum IdForm {
  /** As it stands. */
  Plain,
  /** Claude Code: behind the last `_session_`, or `session_id` of a JSON text; else it names a user. */
  ClaudeUser,
  /** SGLang: without the suffixes that count turns and retries. */
  Lineage,
}

class SessionField {
  constructor(
    readonly parent: Place,
    readonly key: string,
    readonly name: string,
    readonly form: IdForm,
  ) {}
}

const FIELDS: SessionField[] = [
  field(Place.Top, "session_id"),
  field(Place.Top, "litellm_session_id"),
  field(Place.Metadata, "session_id", "metadata.session_id"),
  field(Place.Metadata, "sessionId", "metadata.sessionId"),
  field(Place.Metadata, "user_id", "metadata.user_id", IdForm.ClaudeUser),
  field(Place.Conversation, "id", "conversation.id", IdForm.Plain),
  field(Place.ClientMetadata, "thread_id", "client_metadata.thread_id"),
  field(Place.ClientMetadata, "session_id", "client_metadata.session_id"),
  field(Place.SessionParameters, "id", "session_params.id"),
  field(Place.SessionParameters, "session_id", "session_params.session_id"),
  field(Place.Top, "routing_key"),
  field(Place.Top, "conversation_id"),
  field(Place.Top, "rid", "rid", IdForm.Lineage),
  field(Place.SessionControl, "session_id", "nvext.session_control.session_id"),
];

export const SESSION_FIELDS: i32 = FIELDS.length;
/** Rank of the conversation of Responses: its history does not come with the request. */
export const CONVERSATION_ID: i32 = rankOf("conversation.id");

function rankOf(name: string): i32 {
  for (let rank = 0; rank < FIELDS.length; rank++) if (FIELDS[rank].name == name) return rank;
  return -1;
}

function field(
  parent: Place,
  key: string,
  name: string = key,
  form: IdForm = IdForm.Plain,
): SessionField {
  return new SessionField(parent, key, name, form);
}

/** Dotted name of a field, as configuration and records write it. */
export function sessionFieldName(rank: i32): string {
  return FIELDS[rank].name;
}

export function sessionFieldForm(rank: i32): IdForm {
  return unchecked(FIELDS[rank]).form;
}

export function addSessionFields(grammar: Grammar): void {
  grammar
    .key(Place.Top, "metadata", Place.Metadata)
    .key(Place.Top, "conversation", Place.Conversation)
    .key(Place.Top, "client_metadata", Place.ClientMetadata)
    .key(Place.Top, "session_params", Place.SessionParameters)
    .key(Place.Top, "nvext", Place.Extension)
    .key(Place.Extension, "session_control", Place.SessionControl)
    .key(Place.Metadata, "turn", Place.TurnHint)
    .key(Place.Metadata, "parent_session_id", Place.ParentId);
  for (let rank = 0; rank < FIELDS.length; rank++) {
    const row = FIELDS[rank];
    grammar.key(row.parent, row.key, <Place>(Place.Session + rank));
  }
}
