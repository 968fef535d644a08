// SPDX-License-Identifier: Apache-2.0
// Admission: sessions wait at a turn boundary until their context fits an endpoint's measured KV capacity.
import { Loads } from "../../memory/loads";
import { WRITE_ATTEMPTS } from "../../memory/shared-store";
import { NO_ENDPOINT } from "../decision";
import { candidateOf, NO_INDEX } from "../routing/policy";
import { AdmissionCall } from "./admission-call";
import { EndpointState } from "./endpoint-state";
import { Endpoints, MAX_SLOTS } from "./endpoints";
import { addBounds, believedCached, Evidence } from "./evidence";
import { HeldHeads } from "./held-heads";
import { HeldQueue } from "./held-queue";
import { NO_ENTRY } from "./lru-stack";
import { AdmissionOptions } from "./options";
import { homeOrEmptiest, PACE_TOKENS, place, Placement } from "./placement";
import { START_REFILL_SECONDS } from "./refill-rate";
import { Residency } from "./residency";

/** A session with this share of its prefix left passes: holding it would only waste the copy. */
const WARM_SHARE: f64 = 0.5;
const MAX_REFILL_TOKENS: f64 = 4_000_000;
const TICK_MS: u64 = 500;

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
 * closed-loop and 7 open-loop regimes: on average it equals the best fixed window, which differs in each of them.
 */
export class Admission {
  readonly held: HeldQueue;
  readonly residency: Residency = new Residency();
  private readonly placement: Placement = new Placement();
  /** A held request found no endpoint that fits since the last tick. */
  private limited: bool = false;
  private tickedMs: u64 = 0;

  /** @param heads the other workers' queues; null where this VM is the only one */
  constructor(
    private readonly options: AdmissionOptions,
    readonly endpoints: Endpoints,
    private readonly heads: HeldHeads | null = null,
  ) {
    this.held = new HeldQueue(options.order);
  }

  /** A request has been read. After Hold, call `release` at once: there may be room. */
  arrive(call: AdmissionCall, loads: Loads, nowMs: u64): Verdict {
    call.bornSeconds = <u32>(nowMs / 1000);
    call.heldMs = nowMs;
    const known = isSlot(call.home);
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
    if (!this.hasTurn(nowMs)) return null;
    let call = this.held.first();
    while (call != null) {
      place(call, loads, this.endpoints, this.placement);
      if (this.placement.paced) {
        call = this.held.after(call);
        continue;
      }
      const row = this.placement.row;
      if (row == NO_INDEX) {
        if (this.placement.full) this.limited = true;
        return this.isOverdue(call, nowMs) ? this.letThrough(call, loads, nowMs) : null;
      }
      // Another worker may have filled the endpoint: its state is fresh now, so look once more.
      if (this.letGo(call, row, loads, true, nowMs)) return call;
    }
    return null;
  }

  /** The next held request that has waited too long, counted at `call.slot`; null when none has. */
  overdue(loads: Loads, nowMs: u64): AdmissionCall | null {
    let call = this.held.first();
    while (call != null) {
      if (this.isOverdue(call, nowMs)) return this.letThrough(call, loads, nowMs);
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

  /**
   * Whether a request that passed may leave its home for this row, as a policy wants it to: a session that moves
   * is a cold one, and must find room and little pending there like any other. Under overload nobody moves.
   */
  mayMove(call: AdmissionCall, row: i32, loads: Loads): bool {
    const slot = loads.slots[row];
    if (slot == call.home || candidateOf(loads, call.home) == NO_INDEX) return true;
    if (loads.pendingPrefill[row] >= PACE_TOKENS) return false;
    return this.endpoints.view(slot).fits(call.promptTokens);
  }

  /** A request leaves for an endpoint. `queuedTokens` is the pending prefill there, without this request. */
  send(call: AdmissionCall, slot: i32, queuedTokens: f64, nowMs: u64): void {
    if (isSlot(slot)) this.dispatch(call, slot, queuedTokens, false, nowMs);
  }

  firstByte(call: AdmissionCall): void {
    if (call.slot == NO_ENDPOINT) return;
    const high = call.high;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      const stack = this.endpoints.edit(call.slot).stack;
      call.high = high + stack.heldAbove(call.session);
      stack.firstByte(call.session);
      if (this.endpoints.commit(call.slot)) return;
    }
  }

  /** An answer ended. Set `call.promptTokens` before to what was reported, if it was. */
  end(call: AdmissionCall, evidence: Evidence, nowMs: u64): void {
    if (call.slot == NO_ENDPOINT) return;
    const stop = evidence.stop;
    const tokens = call.estimatedTokens + max(0, evidence.outputTokens);
    const stays = this.residency.seconds(stop) > 0;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      const endpoint = this.endpoints.edit(call.slot);
      endpoint.stack.end(call.session, tokens, stop, stays, nowMs);
      const cached = believedCached(call, evidence, endpoint);
      const computed = cached >= 0 ? call.estimatedTokens - cached : call.uncachedTokens;
      addBounds(call, endpoint, cached, <f64>nowMs / 1000);
      endpoint.refill.observe(evidence.ttftSeconds, call.queuedTokens, computed);
      if (this.endpoints.commit(call.slot)) break;
    }
    call.slot = NO_ENDPOINT;
  }

  /** The client left, held or not, or no answer came. May be called again. */
  abandon(call: AdmissionCall): void {
    this.held.remove(call);
    if (call.slot == NO_ENDPOINT) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.endpoints.edit(call.slot).stack.abandon(call.session);
      if (this.endpoints.commit(call.slot)) break;
    }
    call.slot = NO_ENDPOINT;
  }

  /** The endpoint failed or was restarted: its cache is empty, its size has not changed. */
  fail(slot: i32): void {
    if (!isSlot(slot)) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.endpoints.edit(slot).clear();
      if (this.endpoints.commit(slot)) return;
    }
  }

  /** Refits capacities, windows and times to live, twice a second at most. Call `release` afterwards. */
  tick(nowMs: u64): void {
    this.publishHead(nowMs);
    if (nowMs < this.tickedMs + TICK_MS) return;
    this.tickedMs = nowMs;
    let largest: f64 = 0;
    let refill: f64 = 0;
    let measured = 0;
    for (let slot = 0; slot < this.endpoints.end; slot++) {
      if (!this.endpoints.isKnown(slot)) continue;
      const endpoint = this.refit(slot, nowMs);
      largest = max(largest, endpoint.window.tokens);
      if (!endpoint.refill.isMeasured) continue;
      refill += endpoint.refill.seconds;
      measured++;
    }
    this.limited = false;
    const rate = measured > 0 ? refill / <f64>measured : START_REFILL_SECONDS;
    this.residency.estimate(min(largest, MAX_REFILL_TOKENS) * rate);
  }

  /** Whether a session that comes back passes; learns how long it was away. */
  private returns(call: AdmissionCall, alive: bool, nowMs: u64): bool {
    let endpoint = this.endpoints.view(call.home);
    let entry = endpoint.stack.find(call.session);
    if (entry == NO_ENTRY || !endpoint.stack.isResident(entry)) {
      // Another worker may have served the session since this one looked.
      endpoint = this.endpoints.edit(call.home);
      entry = endpoint.stack.find(call.session);
    }
    if (entry == NO_ENTRY) return false;
    const stack = endpoint.stack;
    call.bornSeconds = stack.bornSeconds(entry);
    if (!stack.inFlight(entry)) {
      this.residency.observe(stack.stopOf(entry), stack.idleSeconds(entry, nowMs));
    }
    if (!alive) return false;
    if (stack.isResident(entry)) return true;
    const expected = call.expectedTokens;
    return expected > 0 && endpoint.warmTokens(call.session, expected) >= WARM_SHARE * expected;
  }

  /** Whether no other worker holds a request that goes first. */
  private hasTurn(nowMs: u64): bool {
    const head = this.held.first();
    if (head == null) return false;
    const heads = this.heads;
    return heads == null || heads.isFirst(this.held.rankOf(head), nowMs);
  }

  private publishHead(nowMs: u64): void {
    const heads = this.heads;
    if (heads == null) return;
    const head = this.held.first();
    if (head == null) heads.withdraw(nowMs);
    else heads.publish(this.held.rankOf(head), nowMs);
  }

  /** Counts a held call at a row and takes it out of the queue; false where it does not fit after all. */
  private letGo(call: AdmissionCall, row: i32, loads: Loads, mustFit: bool, nowMs: u64): bool {
    const queued = loads.pendingPrefill[row];
    if (!this.dispatch(call, loads.slots[row], queued, mustFit, nowMs)) return false;
    this.held.serve(call);
    loads.pendingPrefill[row] += call.uncachedTokens;
    return true;
  }

  private dispatch(
    call: AdmissionCall,
    slot: i32,
    queuedTokens: f64,
    mustFit: bool,
    nowMs: u64,
  ): bool {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      const endpoint = this.endpoints.edit(slot);
      endpoint.takeGiven(this.options);
      if (mustFit && !endpoint.fits(call.promptTokens)) return false;
      const stack = endpoint.stack;
      const warm = endpoint.warmTokens(call.session, call.expectedTokens);
      call.measured = stack.measured;
      call.low = stack.low;
      call.high = stack.high;
      call.uncachedTokens = max(1, call.promptTokens - max(warm, call.sharedTokens));
      stack.send(call.session, call.promptTokens, call.bornSeconds, nowMs);
      endpoint.dropGone();
      if (this.endpoints.commit(slot)) break;
    }
    call.slot = slot;
    call.estimatedTokens = call.promptTokens;
    call.queuedTokens = queuedTokens;
    if (call.home != slot) this.leaveHome(call);
    return true;
  }

  /** The session's copy at its old home counts no longer, and nothing was expected at the new one. */
  private leaveHome(call: AdmissionCall): void {
    call.expectedTokens = 0;
    if (!isSlot(call.home)) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      this.endpoints.edit(call.home).stack.release(call.session);
      if (this.endpoints.commit(call.home)) return;
    }
  }

  private isOverdue(call: AdmissionCall, nowMs: u64): bool {
    const limit = this.options.holdLimitMs;
    return limit > 0 && nowMs >= call.heldMs + limit;
  }

  /** Home, or the emptiest endpoint; nowhere (NO_ENDPOINT: Envoy decides) where none is known. */
  private letThrough(call: AdmissionCall, loads: Loads, nowMs: u64): AdmissionCall {
    const row = homeOrEmptiest(call, loads, this.endpoints);
    if (row == NO_INDEX) this.held.serve(call);
    else this.letGo(call, row, loads, false, nowMs);
    return call;
  }

  /** One worker refits a state for all; the others read what it wrote. */
  private refit(slot: i32, nowMs: u64): EndpointState {
    const endpoint = this.endpoints.edit(slot);
    const news = this.limited && !endpoint.window.limited;
    if (news) endpoint.window.limited = true;
    const isDue = nowMs >= endpoint.refitMs + TICK_MS;
    if (isDue) endpoint.refit(this.options, this.residency, nowMs);
    // A lost race leaves the work to the winner.
    if (isDue || news) this.endpoints.commit(slot);
    return endpoint;
  }
}

function isSlot(slot: i32): bool {
  return slot >= 0 && slot < MAX_SLOTS;
}
