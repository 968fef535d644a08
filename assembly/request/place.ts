// SPDX-License-Identifier: Apache-2.0
// Where in a request body a value stands, and so what it means. The grammars lead from place to place.

export enum Place {
  /** Not part of the prompt, nor of anything that is asked. */
  Ignored = 0,

  // The body itself and its own keys.
  Top,
  Model,
  Adapter,
  CacheSalt,
  Stream,
  /** True: the last item is continued, so it is no finished run. */
  ContinueFinal,
  PreviousResponse,
  Cohort,
  /** Anything else that is rendered before the first user item. */
  HeadExtra,
  Tools,
  Tool,
  System,
  /** The conversation under whichever key the format has it. */
  Items,
  /** A prompt that is rendered already, and its tokens. */
  Prompt,
  PromptToken,
  Metadata,
  ClientMetadata,
  Conversation,
  SessionParameters,
  SessionControl,
  Extension,
  TurnHint,
  ParentId,

  // Inside the conversation.
  Item,
  Role,
  ItemType,
  Content,
  Part,
  PartType,
  Text,
  Image,
  Audio,
  Video,
  File,
  Calls,
  Call,
  Function,
  Refusal,
  /** Its presence shows that a model wrote the item. */
  Generated,
  Reasoning,
  /** True: the item is the beginning of an answer that the model shall continue. */
  ItemPrefill,
  /** Id that a client item answers to. */
  AnswersId,
  /** Id that counts on client items and not on model items. */
  OwnId,
  /** Id that counts where the item is nothing but a reference. */
  ReferenceId,
  /** Who ran a search for tools. */
  Execution,
  /** Opaque content that counts only where it is the item. */
  Sealed,
  /** Anything else inside an item: the order of keys does not matter. */
  Value,
  /** JSON that templates print as it stands: the order of keys matters. */
  Ordered,

  /** Places from here on are session fields, by rank. */
  Session,
}

/** Most fields of a body that can name a session. */
export const MAX_SESSION_FIELDS: i32 = 32;

/** What a role or type says. */
export enum Mark {
  None = 0,
  // Roles and item types.
  Model,
  Client,
  System,
  /** Who wrote a message item is up to its role. */
  Message,
  /** A model item that clients drop or rename at will. */
  ReasoningItem,
  /** A model item whose sealed content stands for the history before it. */
  CompactionItem,
  /** A model item that the server holds. */
  ReferenceItem,
  /** Whose item it is depends on where the search ran. */
  SearchOutput,
  // Types of content parts.
  TextPart,
  ReasoningPart,
  /** A part that only a model writes. */
  GeneratedPart,
  /** A part that changes with every call and is no part of the prompt. */
  NoncePart,
}
