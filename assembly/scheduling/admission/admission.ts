// SPDX-License-Identifier: Apache-2.0
// Admission: sessions wait at a turn boundary until their context fits an endpoint's measured KV capacity.
import { Loads } from "../../memory/loads";
import { isDue, isPast } from "../../memory/roster";
import { WRITE_ATTEMPTS } from "../../memory/shared-store";
import { NO_ENDPOINT } from "../decision";
import { candidateOf, NO_INDEX } from "../routing/policy";
import { AdmissionCall } from "./admission-call";
import { EndpointState } from "./endpoint-state";
import { Endpoints, MAX_SLOTS } from "./endpoints";
import { DeedKind } from "./deed";
import { believedCached, computedTokens, Evidence, fillBounds } from "./evidence";
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
/** Looks are half a second apart; gauges are right again three seconds after a worker was lost. */
const LOST_LOOKS: u8 = 20;

export enum Verdict {
  /** Goes on now, where the routing policy says. Tell its endpoint with `send`. */
  Pass = 0,
  /** Waits: `release` will give it back. */
  Hold = 1,
  /** A first turn that no place is left to wait in: 429, no cached state is lost. */
  Refuse = 2,
  /** Should wait, and goes on because no place is left to wait in. */
  Unheld = 3,
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
  /** Looks in a row at which an endpoint had fewer requests in flight than its stack. */
  private readonly excesses: StaticArray<u8> = new StaticArray<u8>(MAX_SLOTS);

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
      return this.options.refuseFirstTurns && !known ? Verdict.Refuse : Verdict.Unheld;
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

  /**
   * Whether a request that passed may leave its home for this row, as a policy wants it to: a session that moves
   * is a cold one, and must find room and little pending there like any other. Under overload nobody moves.
   */
  mayMove(call: AdmissionCall, row: i32, loads: Loads): bool {
    const slot = loads.slots[row];
    if (slot == call.home || candidateOf(loads, call.home) == NO_INDEX) return true;
    if (loads.foreign[row] || loads.pendingPrefill[row] >= PACE_TOKENS) return false;
    return this.endpoints.view(slot).fits(call.promptTokens);
  }

  /** A request leaves for an endpoint. `queuedTokens` is the pending prefill there, without this request. */
  send(call: AdmissionCall, slot: i32, queuedTokens: f64, nowMs: u64): void {
    if (isSlot(slot)) this.dispatch(call, slot, queuedTokens, false, nowMs);
  }

  firstByte(call: AdmissionCall): void {
    const slot = call.slot;
    if (slot == NO_ENDPOINT) return;
    call.high += this.endpoints.view(slot).stack.heldAbove(call.session);
    this.note(DeedKind.FirstByte, slot, call.session);
  }

  /** An answer ended. Set `call.promptTokens` before to what was reported, if it was. */
  end(call: AdmissionCall, evidence: Evidence, nowMs: u64): void {
    const slot = call.slot;
    if (slot == NO_ENDPOINT) return;
    const deed = this.endpoints.next;
    deed.begin(DeedKind.End, slot, call.session, nowMs);
    deed.tokens = call.estimatedTokens + max(0, evidence.outputTokens);
    deed.stop = evidence.stop;
    deed.stays = this.residency.seconds(evidence.stop) > 0;
    const cached = believedCached(call, evidence, this.endpoints.view(slot), deed);
    fillBounds(call, cached, deed);
    deed.ttftSeconds = evidence.ttftSeconds;
    deed.queuedTokens = call.queuedTokens;
    deed.computedTokens = computedTokens(call, cached);
    this.endpoints.done();
    call.slot = NO_ENDPOINT;
  }

  /** The client left, held or not, or no answer came. May be called again. */
  abandon(call: AdmissionCall): void {
    this.held.remove(call);
    const slot = call.slot;
    if (slot == NO_ENDPOINT) return;
    call.slot = NO_ENDPOINT;
    this.note(DeedKind.Abandon, slot, call.session);
  }

  /**
   * Tells which endpoint has a slot now. Another one than before has an empty cache, and one that was restarted too.
   * @param generation counts the endpoints that had the slot, never 0
   */
  noteEndpoint(slot: i32, generation: u32): void {
    if (!isSlot(slot) || this.endpoints.view(slot).generation == generation) return;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      const endpoint = this.endpoints.edit(slot);
      if (endpoint.generation == generation) return; // Another worker has told it.
      if (endpoint.generation != 0) endpoint.clear();
      endpoint.generation = generation;
      if (this.endpoints.commit(slot)) return;
    }
  }

  /**
   * Compares with what Envoy's gauges count: requests that this one counts beyond that were lost with their worker.
   * One look may fall between two counts: only an excess that stays for `LOST_LOOKS` is taken back.
   * @param requests in flight to the endpoint, those included that admission does not know
   */
  noteInFlight(slot: i32, requests: i32): void {
    if (!isSlot(slot)) return;
    const excess = this.endpoints.view(slot).stack.flights - requests;
    this.excesses[slot] = excess > 0 ? this.excesses[slot] + 1 : 0;
    if (this.excesses[slot] < LOST_LOOKS) return;
    this.excesses[slot] = 0;
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      const stack = this.endpoints.edit(slot).stack;
      stack.cancelOldest(stack.flights - requests);
      if (this.endpoints.commit(slot)) return;
    }
  }

  /** Requests that all workers hold. */
  heldEverywhere(nowMs: u64): u64 {
    const heads = this.heads;
    return heads == null ? <u64>this.held.count : heads.heldNow(nowMs);
  }

  /** Refits capacities, windows and times to live, twice a second at most. Call `release` afterwards. */
  tick(nowMs: u64): void {
    this.endpoints.flush();
    this.publishHead(nowMs);
    if (!isDue(this.tickedMs, TICK_MS, nowMs)) return;
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
    let warm = isWarm(call, endpoint, entry);
    if (!warm) {
      // Another worker may have served the session since this one looked.
      endpoint = this.endpoints.edit(call.home);
      entry = endpoint.stack.find(call.session);
      warm = isWarm(call, endpoint, entry);
    }
    if (entry == NO_ENTRY) return false;
    const stack = endpoint.stack;
    call.bornSeconds = stack.bornSeconds(entry);
    if (!stack.inFlight(entry)) {
      this.residency.observe(stack.stopOf(entry), stack.idleSeconds(entry, nowMs));
    }
    return alive && warm;
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
    else heads.publish(this.held.rankOf(head), this.held.count, nowMs);
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
    if (mustFit) {
      if (!this.squeezeIn(call, slot, nowMs)) return false;
    } else {
      this.fillSend(call, this.endpoints.view(slot), slot, nowMs);
      this.endpoints.done();
    }
    call.slot = slot;
    call.estimatedTokens = call.promptTokens;
    call.queuedTokens = queuedTokens;
    if (call.home == slot) return true;
    // Nothing was expected here, and the copy at the old home counts no longer.
    call.expectedTokens = 0;
    if (isSlot(call.home)) this.note(DeedKind.Release, call.home, call.session);
    return true;
  }

  /** Sends a call if it fits by what all workers have done: two must not take the same room. */
  private squeezeIn(call: AdmissionCall, slot: i32, nowMs: u64): bool {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      const endpoint = this.endpoints.edit(slot);
      endpoint.takeGiven(this.options);
      if (!endpoint.fits(call.promptTokens)) return false;
      this.fillSend(call, endpoint, slot, nowMs);
      this.endpoints.next.perform(endpoint);
      if (this.endpoints.commit(slot)) break;
    }
    return true;
  }

  /** Writes down how a call finds the endpoint, and that it leaves for it. */
  private fillSend(call: AdmissionCall, endpoint: EndpointState, slot: i32, nowMs: u64): void {
    endpoint.takeGiven(this.options);
    const stack = endpoint.stack;
    const warm = endpoint.warmTokens(call.session, call.expectedTokens);
    call.measured = stack.measured;
    call.low = stack.low;
    call.high = stack.high;
    call.uncachedTokens = max(1, call.promptTokens - max(warm, call.sharedTokens));
    const deed = this.endpoints.next;
    deed.begin(DeedKind.Send, slot, call.session, nowMs);
    deed.tokens = call.promptTokens;
    deed.bornSeconds = call.bornSeconds;
  }

  private note(kind: DeedKind, slot: i32, session: u64): void {
    this.endpoints.next.begin(kind, slot, session, 0);
    this.endpoints.done();
  }

  private isOverdue(call: AdmissionCall, nowMs: u64): bool {
    const limit = this.options.holdLimitMs;
    return limit > 0 && isDue(call.heldMs, limit, nowMs);
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
    const isWanted = isPast(endpoint.refitMs, TICK_MS, nowMs);
    if (isWanted) endpoint.refit(this.options, this.residency, nowMs);
    // A lost race leaves the work to the winner.
    if (isWanted || news) this.endpoints.commit(slot);
    return endpoint;
  }
}

/** Whether a session has its place at the endpoint, or enough of its copy left. */
function isWarm(call: AdmissionCall, endpoint: EndpointState, entry: i32): bool {
  if (entry == NO_ENTRY) return false;
  if (endpoint.stack.isResident(entry)) return true;
  const expected = call.expectedTokens;
  return expected > 0 && endpoint.warmTokens(call.session, expected) >= WARM_SHARE * expected;
}

function isSlot(slot: i32): bool {
  return slot >= 0 && slot < MAX_SLOTS;
}
