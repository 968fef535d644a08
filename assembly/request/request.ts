// SPDX-License-Identifier: Apache-2.0
// What one LLM request says: plain data that the reader fills and memory and scheduling read.
import { Identity } from "./identity";

/** Wire format of a request body. */
export enum Dialect {
  None = 0,
  Chat = 1,
  Responses = 2,
  Messages = 3,
  Completions = 4,
}

/** Name of a dialect as records and `inspect` write it. */
export function dialectName(dialect: Dialect): string {
  switch (dialect) {
    case Dialect.Chat:
      return "chat";
    case Dialect.Responses:
      return "responses";
    case Dialect.Messages:
      return "messages";
    case Dialect.Completions:
      return "completions";
    default:
      return "none";
  }
}

/** What came of reading a body. Exactly one per request; counters and `inspect` print it. */
export enum Reading {
  /** The document has not ended yet; the answer so far is usable but shorter than the truth. */
  Open = 0,
  /** A conversation with at least one item. */
  Conversation = 1,
  /** A prompt without turns (completions, token ids): turn 0, prefix only. */
  Prompt = 2,
  /** Well-formed JSON that holds no conversation. */
  NotConversation = 3,
  /** Not JSON, or more bytes after the document. */
  Malformed = 4,
  /** The body ended inside the document. */
  Truncated = 5,
}

/** Boundaries of runs 1, 2, 4, 8, ... up to 2^14, the last four, and the end of the list. */
export const MAX_BOUNDARIES: i32 = 20;

/** Pieces of a head that are told apart; a longer head is exact in front of that. */
export const MAX_HEAD_PIECES: i32 = 128;

/**
 * A point in the conversation that a later request can share: just before a run of model items, or the end of
 * the list. The chain there equals the end of the request that was answered by that run.
 */
export class Boundary {
  /** Canonical hash of all items before this point, seeded with the tenant; the head is not part of it. */
  chain: u64 = 0;
  /** Closed runs before this point; a request that ends here has turn `runs + 1`. */
  runs: i32 = 0;
  /** Decoded content bytes of the items before this point, without the head. */
  prefixBytes: u32 = 0;
  /** Estimated tokens of the same. */
  prefixTokens: u32 = 0;
  /** The same two numbers including the run that follows this point (equal where none follows). */
  afterRunBytes: u32 = 0;
  afterRunTokens: u32 = 0;

  copyFrom(other: Boundary): void {
    this.chain = other.chain;
    this.runs = other.runs;
    this.prefixBytes = other.prefixBytes;
    this.prefixTokens = other.prefixTokens;
    this.afterRunBytes = other.afterRunBytes;
    this.afterRunTokens = other.afterRunTokens;
  }
}

/** One request as read so far. Reused from stream to stream: `reset` before use. */
export class Request {
  dialect: Dialect = Dialect.None;
  reading: Reading = Reading.Open;
  /** Structural turn: 1 + closed runs; 0 where there is no conversation or it is undecided. */
  turn: i32 = 0;
  items: i32 = 0;
  /** Raw body offset just after the last counted model item, or -1. For `inspect` and tests. */
  lastModelEndByte: i32 = -1;
  /** Kept boundaries, shallow to deep; the last one is the end of the list. */
  boundaries: StaticArray<Boundary> = new StaticArray<Boundary>(MAX_BOUNDARIES);
  boundaryCount: i32 = 0;
  /** Canonical hash of tools, system text and what else is rendered before the first user item. */
  head: u64 = 0;
  headBytes: u32 = 0;
  headTokens: u32 = 0;
  /**
   * The head in pieces (a tool, a part of the system text, 1 KiB of a long one), system text first: hash of the head
   * up to each piece, its bytes and estimated tokens. Two heads share what they share here, row by row.
   */
  readonly headPieces: StaticArray<u64> = new StaticArray<u64>(MAX_HEAD_PIECES);
  readonly headPieceBytes: StaticArray<u32> = new StaticArray<u32>(MAX_HEAD_PIECES);
  readonly headPieceTokens: StaticArray<u32> = new StaticArray<u32>(MAX_HEAD_PIECES);
  headPieceCount: i32 = 0;
  /** Hash of model, cache salt and adapter: KV cache is never shared across different ones. */
  model: u64 = 0;
  /** Hash of model and adapter alone: prices and the scale of tokens are the same whatever the salt. */
  unsaltedModel: u64 = 0;
  /** Estimated tokens of the whole prompt, head included. */
  promptTokens: u32 = 0;
  promptBytes: u32 = 0;
  /** What all estimates above were multiplied by; 1 as long as they are the reader's own. */
  tokenScale: f64 = 1;
  stream: bool = false;
  /** The list ends in model items that may be a prefill: they count in no turn, but a boundary lies before them. */
  openRun: bool = false;
  /** A key appeared twice at the top level: the last one counts, and nothing is stored. */
  ambiguous: bool = false;
  /** Session key, scoped by tenant and model (0 = none but the chain), and where it came from (`sourceName`). */
  session: u64 = 0;
  sessionSource: i32 = 0;
  /** Key of the program (the root or parent session, else the session itself), scoped by tenant; 0 = not told. */
  program: u64 = 0;
  /** Hash of `prompt_cache_key`, scoped by tenant: a cohort that many sessions share, never a session. */
  cohort: u64 = 0;
  /** Hash of the response whose history the server holds (`previous_response_id`), scoped by tenant, or 0. */
  previousResponse: u64 = 0;
  /** The body shows only part of the history: the turn is the least that it can be. */
  historyHeld: bool = false;
  /** Turn that the client tells, or 0; a hint where the body cannot know. */
  turnHint: i32 = 0;
  /** What the headers say. The filter fills it before the body is read. */
  readonly identity: Identity = new Identity();

  /** Says nothing of any request, so that no later stream can be taken for an earlier one. */
  forget(): void {
    this.dialect = Dialect.None;
    this.reading = Reading.Open;
    this.turn = this.items = 0;
    this.lastModelEndByte = -1;
    this.boundaryCount = 0;
    this.head = this.model = this.unsaltedModel = 0;
    this.headBytes = this.headTokens = 0;
    this.headPieceCount = 0;
    this.promptTokens = this.promptBytes = 0;
    this.tokenScale = 1;
    this.stream = this.openRun = this.ambiguous = false;
    this.session = this.program = this.cohort = this.previousResponse = 0;
    this.sessionSource = 0;
    this.historyHeld = false;
    this.turnHint = 0;
    this.identity.reset();
  }

  constructor() {
    for (let i = 0; i < MAX_BOUNDARIES; i++) this.boundaries[i] = new Boundary();
  }
}
