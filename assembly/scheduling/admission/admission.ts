// SPDX-License-Identifier: Apache-2.0
// Admission: sessions wait at a turn boundary until their context fits an endpoint's measured KV capacity.
import { Loads } from "../../memory/loads";
import { NO_ENDPOINT } from "../decision";
import { candidateOf, NO_INDEX } from "../routing/policy";
import { AdmissionCall } from "./admission-call";
import { EndpointState } from "./endpoint-state";
import { HeldQueue } from "./held-queue";
import { NO_ENTRY } from "./lru-stack";
import { AdmissionOptions } from "./options";
import { START_REFILL_SECONDS } from "./refill-rate";
import { Residency } from "./residency";
import { StopClass } from "./stop-class";
import { Judgement, judgeByTtft } from "./ttft-judge";

/** A session with this share of its prefix left passes: holding it would only waste the copy. */
const WARM_SHARE: f64 = 0.5;
/** The head of the queue goes home with this share left. */
const HOME_SHARE: f64 = 0.3;
/** A held request goes only where less uncached prefill is pending: losses are reported late. */
const PACE_TOKENS: f64 = 16_000;
/** Placement: weight of pending prefill beside resident tokens, and what a home is worth. */
const PENDING_WEIGHT: f64 = 5;
const HOME_BONUS: f64 = 0.2;
const UNKNOWN_CAPACITY: f64 = 1_000_000;
/** Shorter expectations say nothing of a capacity. */
const LEAST_EXPECTED: f64 = 4_000;
const TOLERATED_SHARE: f64 = 0.05;
const TOLERATED_TOKENS: f64 = 64;
const MAX_REFILL_TOKENS: f64 = 4_000_000;
const TICK_MS: u64 = 500;
const MAX_SLOTS: i32 = 1024;

export enum Verdict {
  /** Goes on now, where the routing policy says. Tell its endpoint with `send`. */
  Pass = 0,
  /** Waits: `release` will give it back. */
  Hold = 1,
  /** A first turn that no place is left to wait in: 429, no cached state is lost. */
  Refuse = 2,
}

/**
 * Pure: time comes in, calls come out. The rule and its constants were compared in a step-level simulation of 15
 * closed-loop and 7 open-loop regimes: it stays within 2 % of the best fixed window, which differs in each.
 */
export class Admission {
  readonly held: HeldQueue;
  readonly residency: Residency = new Residency();
  private readonly endpoints: StaticArray<EndpointState | null> =
    new StaticArray<EndpointState | null>(MAX_SLOTS);
  private tickedMs: u64 = 0;

  constructor(private readonly options: AdmissionOptions) {
    this.held = new HeldQueue(options.order);
  }

  /** State of an endpoint by its slot (below 1,024), made on first use. */
  endpoint(slot: i32): EndpointState {
    let state = this.endpoints[slot];
    if (state == null) {
      state = new EndpointState();
      this.endpoints[slot] = state;
    }
    return state;
  }

  /** A request has been read. After Hold, call `release` at once: there may be room. */
  arrive(call: AdmissionCall, loads: Loads, nowMs: u64): Verdict {
    call.bornSeconds = <u32>(nowMs / 1000);
    call.heldMs = nowMs;
    const known = call.home >= 0 && call.home < MAX_SLOTS;
    if (known && this.returns(call, candidateOf(loads, call.home) != NO_INDEX, nowMs)) {
      return Verdict.Pass;
    }
    if (this.held.count >= this.options.maxHeld) {
      return this.options.refuseFirstTurns && !known ? Verdict.Refuse : Verdict.Pass;
    }
    this.held.push(call);
    return Verdict.Hold;
  }

  /**
   * The next held request that may go on, already counted at `call.slot`; null when none may. Call it until null:
   * after an arrival that holds, after an end, and from the tick.
   */
  release(loads: Loads, nowMs: u64): AdmissionCall | null {
    let call = this.held.first();
    while (call != null) {
      const home = candidateOf(loads, call.home);
      const goesHome = home != NO_INDEX && this.isHomeOpen(call, loads.slots[home]);
      if (goesHome && loads.pendingPrefill[home] >= PACE_TOKENS) {
        call = this.held.after(call);
        continue;
      }
      const row = goesHome ? home : this.roomiest(call, loads);
      if (row != NO_INDEX) return this.letGo(call, row, loads);
      if (!this.isOverdue(call, nowMs)) return null;
      return this.letThrough(call, loads);
    }
    return null;
  }

  /** The next held request that has waited too long, counted at `call.slot`; null when none has. */
  overdue(loads: Loads, nowMs: u64): AdmissionCall | null {
    let call = this.held.first();
    while (call != null) {
      if (this.isOverdue(call, nowMs)) return this.letThrough(call, loads);
      call = this.held.after(call);
    }
    return null;
  }

  /** Any held request, not counted anywhere: for a shutdown or a new configuration. */
  drain(): AdmissionCall | null {
    const call = this.held.first();
    if (call != null) this.held.remove(call);
    return call;
  }

  /** A request leaves for an endpoint. `queuedTokens` is the pending prefill there, without this request. */
  send(call: AdmissionCall, slot: i32, queuedTokens: f64): void {
    if (slot < 0 || slot >= MAX_SLOTS) return;
    const endpoint = this.endpoint(slot);
    const warm = endpoint.warmTokens(call.session, call.expectedTokens);
    call.measured = endpoint.stack.measured;
    call.low = endpoint.stack.low;
    call.high = endpoint.stack.high;
    call.slot = slot;
    call.queuedTokens = queuedTokens;
    call.uncachedTokens = max(1, call.promptTokens - max(warm, call.sharedTokens));
    const moves = call.home != slot;
    if (moves) call.expectedTokens = 0;
    if (moves && call.home >= 0 && call.home < MAX_SLOTS) {
      this.endpoint(call.home).stack.release(call.session);
    }
    endpoint.stack.send(call.session, call.promptTokens, call.bornSeconds);
    endpoint.dropGone();
  }

  firstByte(call: AdmissionCall): void {
    if (call.slot == NO_ENDPOINT) return;
    const stack = this.endpoint(call.slot).stack;
    call.high += stack.heldAbove(call.session);
    stack.firstByte(call.session);
  }

  /**
   * An answer ended. Correct `call.promptTokens` before, where it was reported.
   *
   * @param cachedTokens as reported, or negative: then the time to the first token judges
   * @param ttftSeconds time to the first token, or negative where it was not seen
   * @param uncachedSeconds learned seconds of prefill per token, for that judgement
   */
  end(
    call: AdmissionCall,
    cachedTokens: f64,
    outputTokens: f64,
    stop: StopClass,
    ttftSeconds: f64,
    uncachedSeconds: f64,
    nowMs: u64,
  ): void {
    if (call.slot == NO_ENDPOINT) return;
    const endpoint = this.endpoint(call.slot);
    const tokens = call.promptTokens + max(0, outputTokens);
    endpoint.stack.end(call.session, tokens, stop, this.residency.seconds(stop) > 0, nowMs);
    const cached = this.judged(call, cachedTokens, ttftSeconds, uncachedSeconds);
    this.sample(call, endpoint, cached, <f64>nowMs / 1000);
    const computed = cached >= 0 ? call.promptTokens - cached : call.uncachedTokens;
    if (ttftSeconds >= 0) endpoint.refill.observe(ttftSeconds, call.queuedTokens, computed);
    call.slot = NO_ENDPOINT;
  }

  /** The client left, held or not, or no answer came. May be called again. */
  abandon(call: AdmissionCall): void {
    this.held.remove(call);
    if (call.slot == NO_ENDPOINT) return;
    this.endpoint(call.slot).stack.abandon(call.session);
    call.slot = NO_ENDPOINT;
  }

  /** The endpoint failed or was restarted. */
  fail(slot: i32): void {
    const state = this.endpoints[slot];
    if (state != null) state.clear();
  }

  /** Refits capacities, windows and times to live, twice a second at most. Call `release` afterwards. */
  tick(nowMs: u64): void {
    const elapsedMs = nowMs - this.tickedMs;
    if (elapsedMs < TICK_MS) return;
    const elapsedSeconds = this.tickedMs == 0 ? 0 : <f64>elapsedMs / 1000;
    this.tickedMs = nowMs;
    let largest: f64 = 0;
    let refill: f64 = 0;
    let measured = 0;
    for (let slot = 0; slot < MAX_SLOTS; slot++) {
      const state = this.endpoints[slot];
      if (state == null) continue;
      this.refit(state, elapsedSeconds, nowMs);
      largest = max(largest, state.window.tokens);
      if (!state.refill.isMeasured) continue;
      refill += state.refill.seconds;
      measured++;
    }
    const rate = measured > 0 ? refill / <f64>measured : START_REFILL_SECONDS;
    this.residency.estimate(min(largest, MAX_REFILL_TOKENS) * rate);
  }

  /** Whether a session that comes back passes; learns how long it was away. */
  private returns(call: AdmissionCall, alive: bool, nowMs: u64): bool {
    const endpoint = this.endpoint(call.home);
    const stack = endpoint.stack;
    const entry = stack.find(call.session);
    if (entry == NO_ENTRY) return false;
    call.bornSeconds = stack.bornSeconds(entry);
    if (!stack.inFlight(entry)) {
      this.residency.observe(stack.stopOf(entry), stack.idleSeconds(entry, nowMs));
    }
    if (!alive) return false;
    if (stack.isResident(entry)) return true;
    const expected = call.expectedTokens;
    return expected > 0 && endpoint.warmTokens(call.session, expected) >= WARM_SHARE * expected;
  }

  private isHomeOpen(call: AdmissionCall, slot: i32): bool {
    const endpoint = this.endpoint(slot);
    if (!endpoint.fits(call.promptTokens)) return false;
    return endpoint.warmTokens(call.session, call.expectedTokens) > HOME_SHARE * call.promptTokens;
  }

  /** Row with the lowest relative fill among those with room and little pending; NO_INDEX where there is none. */
  private roomiest(call: AdmissionCall, loads: Loads): i32 {
    const unknown = this.largestKnown(loads);
    const anywhere = call.home != NO_ENDPOINT || allForeign(loads);
    let best = NO_INDEX;
    let lowest: f64 = Infinity;
    let anyFits = false;
    for (let i = 0; i < loads.count; i++) {
      if (loads.foreign[i] && !anywhere) continue;
      const endpoint = this.endpoint(loads.slots[i]);
      if (!endpoint.fits(call.promptTokens)) continue;
      anyFits = true;
      if (loads.pendingPrefill[i] >= PACE_TOKENS) continue;
      const capacity = min(endpoint.capacity.tokens, unknown);
      const used = endpoint.stack.residentTokens + PENDING_WEIGHT * loads.pendingPrefill[i];
      const fill = used / capacity - (loads.slots[i] == call.home ? HOME_BONUS : 0);
      if (fill >= lowest) continue;
      lowest = fill;
      best = i;
    }
    if (!anyFits) this.markLimited(loads);
    return best;
  }

  private largestKnown(loads: Loads): f64 {
    let largest = UNKNOWN_CAPACITY;
    for (let i = 0; i < loads.count; i++) {
      const tokens = this.endpoint(loads.slots[i]).capacity.tokens;
      if (isFinite(tokens)) largest = max(largest, tokens);
    }
    return largest;
  }

  private markLimited(loads: Loads): void {
    for (let i = 0; i < loads.count; i++) this.endpoint(loads.slots[i]).window.limited = true;
  }

  private letGo(call: AdmissionCall, row: i32, loads: Loads): AdmissionCall {
    this.held.serve(call);
    this.send(call, loads.slots[row], loads.pendingPrefill[row]);
    loads.pendingPrefill[row] += call.uncachedTokens;
    return call;
  }

  private isOverdue(call: AdmissionCall, nowMs: u64): bool {
    const limit = this.options.holdLimitMs;
    return limit > 0 && nowMs >= call.heldMs + limit;
  }

  /** Home, or the emptiest endpoint; nowhere (NO_ENDPOINT: Envoy decides) where none is known. */
  private letThrough(call: AdmissionCall, loads: Loads): AdmissionCall {
    let row = candidateOf(loads, call.home);
    if (row == NO_INDEX) {
      let lowest: f64 = Infinity;
      for (let i = 0; i < loads.count; i++) {
        const resident = this.endpoint(loads.slots[i]).stack.residentTokens;
        if (resident >= lowest) continue;
        lowest = resident;
        row = i;
      }
    }
    if (row != NO_INDEX) return this.letGo(call, row, loads);
    this.held.serve(call);
    return call;
  }

  /** Cached tokens to learn from: as reported, unless the time to the first token says that they were lost. */
  private judged(
    call: AdmissionCall,
    cachedTokens: f64,
    ttftSeconds: f64,
    uncachedSeconds: f64,
  ): f64 {
    const judgement = judgeByTtft(
      ttftSeconds,
      uncachedSeconds,
      call.queuedTokens,
      call.expectedTokens,
      call.sharedTokens,
    );
    if (judgement == Judgement.Loss && call.expectedTokens >= LEAST_EXPECTED) {
      return cachedTokens >= 0 ? min(cachedTokens, call.sharedTokens) : call.sharedTokens;
    }
    if (cachedTokens >= 0) return cachedTokens;
    return judgement == Judgement.Hit ? call.expectedTokens : -1;
  }

  private sample(call: AdmissionCall, endpoint: EndpointState, cached: f64, nowSeconds: f64): void {
    const expected = call.expectedTokens;
    if (!call.measured || expected < LEAST_EXPECTED || cached < 0) return;
    const lost = expected - cached;
    if (lost <= max(TOLERATED_SHARE * expected, TOLERATED_TOKENS)) {
      endpoint.capacity.atLeast(call.low + expected, nowSeconds);
      return;
    }
    const kept: f64 = cached > call.sharedTokens + TOLERATED_TOKENS ? cached : 0;
    endpoint.capacity.atMost(call.high + kept, nowSeconds);
    if (kept > 0) endpoint.capacity.atLeast(call.low + kept, nowSeconds);
    endpoint.window.lostTokens += lost;
  }

  private refit(state: EndpointState, elapsedSeconds: f64, nowMs: u64): void {
    if (this.options.capacityTokens > 0) {
      state.window.fix(state.capacity, this.options.capacityTokens, this.options.windowShare);
    } else {
      state.capacity.estimate(<f64>nowMs / 1000);
      state.window.update(state.capacity, elapsedSeconds);
    }
    state.refill.estimate();
    const stack = state.stack;
    for (let i = 0; i < stack.count; i++) {
      if (!stack.isResident(i) || stack.inFlight(i)) continue;
      const life = this.residency.seconds(stack.stopOf(i));
      if (stack.idleSeconds(i, nowMs) > life) stack.uncount(i);
    }
    state.dropGone();
  }
}

function allForeign(loads: Loads): bool {
  for (let i = 0; i < loads.count; i++) {
    if (!loads.foreign[i]) return false;
  }
  return true;
}
