// SPDX-License-Identifier: Apache-2.0
// The one table of counters: every name that the filter counts under, defined once per VM.
//
// Names carry their label as `.label.value`; the bootstrap's stats_tags turn that into a Prometheus label.
import { Outcome, outcomeName, OUTCOMES } from "./outcome";
import { Reason, reasonName, REASONS } from "./reason";
import { TurnBand, turnBand, turnBandName, TURN_BANDS } from "./turn-band";

/** Where counts go: Envoy's stats in production. */
export abstract class StatSink {
  abstract counter(name: string): u32;
  abstract gauge(name: string): u32;
  abstract histogram(name: string): u32;
  abstract add(id: u32, amount: i64): void;
  abstract sample(id: u32, value: u64): void;
}

/** Counters that stand alone. */
export enum Counter {
  /** Requests with at least one verified run. */
  FollowUps = 0,
  /** Requests that told an endpoint to Envoy. */
  PinsSet = 1,
  /** Pinned requests that the pinned endpoint served. */
  PinsObeyed = 2,
  /** Pinned requests that another endpoint served: the session has a new home. */
  PinsMoved = 3,
  /** Prompt tokens that a verified follow-up shares with what its home served, as estimated. */
  PrefixTokens = 4,
  /** Prompt tokens of all conversations, as estimated. */
  PromptTokens = 5,
  /** Requests whose told turn differs from the structural one. */
  HintsDisagree = 6,
  /** Times that the learned cap was lowered, or found true when it was tried again. */
  CapLowered = 7,
  /** Times that no body was found to come while headers are held: again every few minutes for as long as that lasts. */
  HoldUnsupported = 8,
  /** Homes forgotten because the engine reported far fewer cached tokens than believed. */
  HomesVoided = 9,
  /** Requests that admission made wait. */
  AdmissionHeld = 10,
  /** Requests that admission would make wait, were it no dry run. */
  AdmissionWouldHold = 11,
  /** Requests that waited for `hold_limit_ms` and went on without room. */
  AdmissionOverdue = 12,
  /** Requests that found no place to wait in and went on at once. */
  AdmissionUnheld = 13,
  /** Follow-ups that an endpoint served which held nothing of their prefix, while another one did. */
  ColdFollowUps = 14,
  /** Prompt tokens of follow-ups that were computed again although another endpoint held them. */
  RecomputedTokens = 15,
}

const COUNTER_NAMES: StaticArray<string> = [
  "smetric_follow_ups",
  "smetric_pins.result.set",
  "smetric_pins.result.obeyed",
  "smetric_pins.result.moved",
  "smetric_prefix_tokens",
  "smetric_prompt_tokens",
  "smetric_hints_disagree",
  "smetric_cap_lowered",
  "smetric_hold_unsupported",
  "smetric_homes_voided",
  "smetric_admission.result.held",
  "smetric_admission.result.would_hold",
  "smetric_admission.result.overdue",
  "smetric_admission.result.unheld",
  "smetric_cold_follow_ups",
  "smetric_recomputed_tokens",
];

/** Rows of the counters: those that stand alone, then outcomes, reasons, and tokens by turn. */
const FIRST_OUTCOME: i32 = COUNTER_NAMES.length;
const FIRST_REASON: i32 = FIRST_OUTCOME + OUTCOMES;
const FIRST_REPORTED: i32 = FIRST_REASON + REASONS;
const FIRST_CACHED: i32 = FIRST_REPORTED + TURN_BANDS;
const ROWS: i32 = FIRST_CACHED + TURN_BANDS;

/** Turns that wait for the next tick; one more gives those before it. */
const MAX_TURNS: i32 = 128;

/**
 * All counters of one VM. A request moves ten of them, and each move is a call into the host: they are added up here
 * and given to the sink together, once a tick.
 */
@final
export class Meters {
  private readonly ids: StaticArray<u32> = new StaticArray<u32>(ROWS);
  private readonly due: StaticArray<i64> = new StaticArray<i64>(ROWS);
  private readonly dueTurns: StaticArray<i32> = new StaticArray<i32>(MAX_TURNS);
  private dueTurnCount: i32 = 0;
  private readonly turns: u32;
  private readonly held: u32;
  private readonly holdMs: u32;
  private readonly uncachedNs: u32;
  private readonly fetchedNs: u32;
  private readonly returnedPermille: u32;
  private readonly decodePs: u32;

  constructor(private readonly sink: StatSink) {
    for (let i = 0; i < COUNTER_NAMES.length; i++) {
      this.ids[i] = sink.counter(COUNTER_NAMES[i]);
    }
    for (let i = 0; i < OUTCOMES; i++) {
      const name = "smetric_streams.outcome." + outcomeName(<Outcome>i);
      this.ids[FIRST_OUTCOME + i] = sink.counter(name);
    }
    for (let i = 0; i < REASONS; i++) {
      const name = "smetric_decisions.reason." + reasonName(<Reason>i);
      this.ids[FIRST_REASON + i] = sink.counter(name);
    }
    for (let i = 0; i < TURN_BANDS; i++) {
      const label = ".turns." + turnBandName(<TurnBand>i);
      this.ids[FIRST_REPORTED + i] = sink.counter("smetric_reported_prompt_tokens" + label);
      this.ids[FIRST_CACHED + i] = sink.counter("smetric_cached_tokens" + label);
    }
    this.turns = sink.histogram("smetric_turn");
    this.held = sink.gauge("smetric_held");
    this.holdMs = sink.histogram("smetric_hold_ms");
    this.uncachedNs = sink.gauge("smetric_uncached_token_ns");
    this.fetchedNs = sink.gauge("smetric_fetched_token_ns");
    this.returnedPermille = sink.gauge("smetric_tier_returned_permille");
    this.decodePs = sink.gauge("smetric_decode_context_token_ps");
  }

  count(counter: Counter, amount: i64 = 1): void {
    this.due[counter] += amount;
  }

  countOutcome(outcome: Outcome): void {
    this.due[FIRST_OUTCOME + outcome]++;
  }

  countReason(reason: Reason): void {
    this.due[FIRST_REASON + reason]++;
  }

  /** An engine reported the tokens of a prompt, and how many of them it had cached. */
  countReport(turn: i32, promptTokens: i64, cachedTokens: i64): void {
    const band = turnBand(turn);
    this.due[FIRST_REPORTED + band] += promptTokens;
    this.due[FIRST_CACHED + band] += cachedTokens;
  }

  /** Gives all counts to the sink. */
  give(): void {
    this.giveTurns();
    for (let row = 0; row < ROWS; row++) {
      const amount = this.due[row];
      if (amount == 0) continue;
      this.due[row] = 0;
      this.sink.add(this.ids[row], amount);
    }
  }

  /** So many requests wait for admission in all workers. */
  showHeld(count: u64): void {
    this.sink.sample(this.held, count);
  }

  /**
   * What answers have taught of the model that was taught last: seconds of a token computed, fetched, and as context
   * of an answer's token, and the share of a missing prefix that a tier returned.
   */
  showPrices(uncached: f64, fetched: f64, decodeContext: f64, returnedShare: f64): void {
    this.sink.sample(this.uncachedNs, <u64>Math.round(uncached * 1e9));
    this.sink.sample(this.fetchedNs, <u64>Math.round(fetched * 1e9));
    this.sink.sample(this.decodePs, <u64>Math.round(decodeContext * 1e12));
    this.sink.sample(this.returnedPermille, <u64>Math.round(returnedShare * 1e3));
  }

  /** A request went on after admission had made it wait. */
  sampleHold(waitedMs: u64): void {
    this.sink.sample(this.holdMs, waitedMs);
  }

  sampleTurn(turn: i32): void {
    if (this.dueTurnCount == MAX_TURNS) this.giveTurns();
    this.dueTurns[this.dueTurnCount++] = turn;
  }

  private giveTurns(): void {
    for (let i = 0; i < this.dueTurnCount; i++) this.sink.sample(this.turns, this.dueTurns[i]);
    this.dueTurnCount = 0;
  }
}
