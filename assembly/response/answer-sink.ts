// SPDX-License-Identifier: Apache-2.0
// Reads one JSON document of an answer, an event's or the whole, into an Outcome: all dialects at once.
import { hashName } from "../hash/text";
import { Container, Sink, Token } from "../json/sink";
import { EventHint, eventHintOf } from "./event-names";
import { finishReasonOf } from "./finish-reasons";
import { FinishReason, NOT_TOLD, Outcome } from "./outcome";

const ID = hashName("id");
const TYPE = hashName("type");
const STATUS = hashName("status");
const RESPONSE = hashName("response");
const MESSAGE = hashName("message");
const CHOICES = hashName("choices");
const DELTA = hashName("delta");
const OUTPUT = hashName("output");
const USAGE = hashName("usage");
const REASON = hashName("reason");
const FINISH_REASON = hashName("finish_reason");
const STOP_REASON = hashName("stop_reason");
const INCOMPLETE_DETAILS = hashName("incomplete_details");

const PROMPT_TOKENS = hashName("prompt_tokens");
const COMPLETION_TOKENS = hashName("completion_tokens");
const PROMPT_TOKENS_DETAILS = hashName("prompt_tokens_details");
const INPUT_TOKENS = hashName("input_tokens");
const OUTPUT_TOKENS = hashName("output_tokens");
const INPUT_TOKENS_DETAILS = hashName("input_tokens_details");
const CACHED_TOKENS = hashName("cached_tokens");
/** DeepSeek's own name; its prompt tokens include them. */
const PROMPT_CACHE_HIT = hashName("prompt_cache_hit_tokens");
const CACHE_READ = hashName("cache_read_input_tokens");
const CACHE_CREATION = hashName("cache_creation_input_tokens");

const COMPLETED = hashName("completed");
const INCOMPLETE = hashName("incomplete");
const FAILED = hashName("failed");
const CANCELLED = hashName("cancelled");
const FUNCTION_CALL = hashName("function_call");
const CUSTOM_TOOL_CALL = hashName("custom_tool_call");

const MESSAGE_STOP = hashName("message_stop");
const RESPONSE_COMPLETED = hashName("response.completed");
const RESPONSE_INCOMPLETE = hashName("response.incomplete");
const RESPONSE_FAILED = hashName("response.failed");

/** Where in an answer a value stands. Everything else is passed over by depth alone. */
enum Place {
  Outside,
  /** The document itself. */
  Root,
  /** The answer inside an event: `response`, `message`. */
  Wrapped,
  Usage,
  /** `prompt_tokens_details`, `input_tokens_details`. */
  Details,
  Choices,
  Choice,
  /** `delta` of a `message_delta`. */
  Delta,
  Incomplete,
  Output,
  OutputItem,
}

/** Root, wrapped, usage, details: nothing that matters lies deeper. */
const MAX_PLACES: i32 = 6;

/** One per scanner. Set `outcome`, `reset`, scan a document, `conclude`. */
export class AnswerSink extends Sink {
  outcome: Outcome = new Outcome();
  private readonly places: StaticArray<Place> = new StaticArray<Place>(MAX_PLACES);
  private depth: i32 = 0;
  private passedOver: i32 = 0;
  private keyHash: u64 = 0;
  private inputTokens: i32 = NOT_TOLD;
  private cacheReadTokens: i32 = NOT_TOLD;
  private cacheCreationTokens: i32 = NOT_TOLD;
  private status: u64 = 0;
  private calledTool: bool = false;
  /** The event is the last one of a Responses stream; its usage may still come. */
  private isLast: bool = false;

  /** Makes ready for another document. */
  reset(): void {
    this.depth = 0;
    this.passedOver = 0;
    this.keyHash = 0;
    this.inputTokens = NOT_TOLD;
    this.cacheReadTokens = NOT_TOLD;
    this.cacheCreationTokens = NOT_TOLD;
    this.status = 0;
    this.calledTool = false;
    this.isLast = false;
  }

  begin(kind: Container, _token: Token): void {
    if (this.passedOver == 0) {
      const place = this.placeOf(kind);
      if (place != Place.Outside && this.depth < MAX_PLACES) {
        this.places[this.depth++] = place;
        if (place == Place.Usage) this.outcome.hasUsage = true;
        return;
      }
    }
    this.passedOver++;
  }

  end(_kind: Container, _token: Token): void {
    if (this.passedOver > 0) this.passedOver--;
    else if (this.depth > 0) this.depth--;
  }

  key(token: Token): void {
    if (this.passedOver > 0) return;
    this.keyHash = token.hash;
    token.wantText = token.hash == TYPE && this.place() == Place.Root;
  }

  text(token: Token): void {
    if (this.passedOver > 0) return;
    const key = this.keyHash;
    switch (this.place()) {
      case Place.Root:
        if (key == TYPE) this.event(token);
        this.answerText(key, token.hash);
        break;
      case Place.Wrapped:
        this.answerText(key, token.hash);
        break;
      case Place.Choice:
        if (key == FINISH_REASON) this.outcome.finishReason = finishReasonOf(token.hash);
        break;
      case Place.Delta:
        if (key == STOP_REASON) this.outcome.finishReason = finishReasonOf(token.hash);
        break;
      case Place.Incomplete:
        if (key == REASON) this.outcome.finishReason = finishReasonOf(token.hash);
        break;
      case Place.OutputItem:
        if (key == TYPE && (token.hash == FUNCTION_CALL || token.hash == CUSTOM_TOOL_CALL)) {
          this.calledTool = true;
        }
        break;
      default:
        break;
    }
  }

  number(token: Token): void {
    if (this.passedOver > 0) return;
    const place = this.place();
    if (place == Place.Usage) this.usageNumber(this.keyHash, tokensOf(token.value));
    else if (place == Place.Details && this.keyHash == CACHED_TOKENS) {
      this.outcome.cachedTokens = tokensOf(token.value);
    }
  }

  literal(_token: Token): void {}

  /** The document has ended well: numbers and words that only make sense together are put together. */
  conclude(): void {
    const outcome = this.outcome;
    if (this.isLast) outcome.complete = true;
    if (this.cacheReadTokens != NOT_TOLD) outcome.cachedTokens = this.cacheReadTokens;
    if (this.inputTokens != NOT_TOLD) {
      const besides = max(0, this.cacheReadTokens) + max(0, this.cacheCreationTokens);
      // A later event of a stream may repeat the input without what was cached.
      outcome.promptTokens = max(outcome.promptTokens, this.inputTokens + besides);
    }
    if (this.status == 0) return;
    if (this.status == COMPLETED) {
      outcome.finishReason = this.calledTool ? FinishReason.ToolUse : FinishReason.EndTurn;
    } else if (this.status == FAILED || this.status == CANCELLED) {
      outcome.finishReason = FinishReason.Other;
    } else if (this.status == INCOMPLETE && outcome.finishReason == FinishReason.Unknown) {
      outcome.finishReason = FinishReason.Other;
    }
  }

  private place(): Place {
    return this.depth == 0 ? Place.Outside : this.places[this.depth - 1];
  }

  /** Place of a container that begins under the last key. */
  private placeOf(kind: Container): Place {
    if (this.depth == 0) return kind == Container.Object ? Place.Root : Place.Outside;
    const place = this.place();
    if (kind == Container.Array) {
      if (place == Place.Root && this.keyHash == CHOICES) return Place.Choices;
      const isAnswer = place == Place.Root || place == Place.Wrapped;
      return isAnswer && this.keyHash == OUTPUT ? Place.Output : Place.Outside;
    }
    switch (place) {
      case Place.Root:
        if (this.keyHash == RESPONSE || this.keyHash == MESSAGE) return Place.Wrapped;
        if (this.keyHash == DELTA) return Place.Delta;
        return this.placeInAnswer();
      case Place.Wrapped:
        return this.placeInAnswer();
      case Place.Usage: {
        const details =
          this.keyHash == PROMPT_TOKENS_DETAILS || this.keyHash == INPUT_TOKENS_DETAILS;
        return details ? Place.Details : Place.Outside;
      }
      case Place.Choices:
        return Place.Choice;
      case Place.Output:
        return Place.OutputItem;
      default:
        return Place.Outside;
    }
  }

  private placeInAnswer(): Place {
    if (this.keyHash == USAGE) return Place.Usage;
    return this.keyHash == INCOMPLETE_DETAILS ? Place.Incomplete : Place.Outside;
  }

  private answerText(key: u64, hash: u64): void {
    if (key == ID) {
      if (this.outcome.responseId == 0) this.outcome.responseId = hash;
    } else if (key == STOP_REASON) this.outcome.finishReason = finishReasonOf(hash);
    else if (key == STATUS) this.status = hash;
  }

  private event(type: Token): void {
    const outcome = this.outcome;
    if (eventHintOf(type.text, type.textBytes) == EventHint.Tokens) outcome.firstToken = true;
    else if (
      type.hash == MESSAGE_STOP ||
      type.hash == RESPONSE_COMPLETED ||
      type.hash == RESPONSE_INCOMPLETE ||
      type.hash == RESPONSE_FAILED
    ) {
      this.isLast = true;
    }
  }

  private usageNumber(key: u64, tokens: i32): void {
    const outcome = this.outcome;
    if (key == PROMPT_TOKENS) outcome.promptTokens = tokens;
    else if (key == COMPLETION_TOKENS || key == OUTPUT_TOKENS) outcome.outputTokens = tokens;
    else if (key == PROMPT_CACHE_HIT) outcome.cachedTokens = tokens;
    else if (key == INPUT_TOKENS) this.inputTokens = tokens;
    else if (key == CACHE_READ) this.cacheReadTokens = tokens;
    else if (key == CACHE_CREATION) this.cacheCreationTokens = tokens;
  }
}

/** Most tokens that an answer is believed; more is noise, and sums stay within an i32. */
const MAX_TOKENS_TOLD: f64 = 500_000_000;

function tokensOf(value: f64): i32 {
  return value >= 0 && value <= MAX_TOKENS_TOLD ? <i32>value : NOT_TOLD;
}
