// SPDX-License-Identifier: Apache-2.0
// Admission for one fleet in one VM: asks the pure rule, and keeps what it needs to know of streams.
import { AdmissionOrder, Options } from "../config/options";
import { Fleet } from "../memory/fleet";
import { Loads } from "../memory/loads";
import { isDue, NO_SLOT } from "../memory/roster";
import { SharedStore } from "../memory/shared-store";
import { Counter, Meters } from "../metrics/meters";
import { Reason } from "../metrics/reason";
import { FinishReason, NOT_TOLD, Outcome as Answer } from "../response/outcome";
import { Admission, Verdict } from "../scheduling/admission/admission";
import { AdmissionCall } from "../scheduling/admission/admission-call";
import { Evidence } from "../scheduling/admission/evidence";
import { HeldHeads } from "../scheduling/admission/held-heads";
import { HoldOrder } from "../scheduling/admission/held-queue";
import { AdmissionOptions } from "../scheduling/admission/options";
import { Scouts } from "../scheduling/admission/scouts";
import { SharedEndpoints } from "../scheduling/admission/shared-endpoints";
import { StopClass } from "../scheduling/admission/stop-class";
import { Subset } from "../scheduling/admission/subset";
import { NO_ENDPOINT } from "../scheduling/decision";
import { candidateOf, isFollowUp, NO_INDEX, placementReason } from "../scheduling/routing/policy";
import { AdmissionGauges } from "./admission-gauges";
import { Teacher } from "./teacher";
import { Turnaround } from "./turnaround";

const GAUGE_MS: u64 = 500;


@final
export class Admitter {
  readonly admission: Admission;
  readonly scouts: Scouts = new Scouts();
  /** Body bytes that waiting requests keep in Envoy's buffers. */
  private heldBytes: u64 = 0;
  private gaugedMs: u64 = 0;
  private readonly evidence: Evidence = new Evidence();
  private readonly gauges: AdmissionGauges;
  private readonly subset: Subset;

  constructor(
    private readonly options: Options,
    store: SharedStore,
    private readonly meters: Meters,
    private readonly fleet: Fleet,
    cluster: string,
    fleetId: string,
    vm: u64,
  ) {
    const heads = new HeldHeads(store, fleetId, vm);
    const endpoints = new SharedEndpoints(store, fleetId, vm);
    this.admission = new Admission(toRule(options), endpoints, heads);
    this.gauges = new AdmissionGauges(cluster);
    this.subset = new Subset(options.gatewaysIndex, options.gatewaysCount);
  }

  /**
   * Whether a request goes on, waits, or is refused. After Hold the caller looks at `release` at once.
   * @param bodyBytes that it keeps in Envoy's buffers while it waits, as far as is known by now
   */
  arrive(turnaround: Turnaround, ticket: u32, bodyBytes: u32, loads: Loads, nowMs: u64): Verdict {
    const call = turnaround.call;
    describe(call, turnaround, ticket);
    this.subset.mark(loads);
    const verdict = this.admission.arrive(call, loads, nowMs);
    if (verdict == Verdict.Unheld) return this.letPass();
    if (verdict != Verdict.Hold) return verdict;
    if (this.heldBytes + bodyBytes > <u64>this.options.admissionMaxHeldBytes) {
      this.admission.held.remove(call);
      const refuses = this.options.admissionRefuseFirstTurns && call.home == NO_SLOT;
      return refuses ? Verdict.Refuse : this.letPass();
    }
    turnaround.heldBytes = bodyBytes;
    this.heldBytes += bodyBytes;
    return Verdict.Hold;
  }

  /** More of the body of a waiting request has come: `bodyBytes` in all. */
  grow(turnaround: Turnaround, bodyBytes: u32): void {
    if (bodyBytes <= turnaround.heldBytes) return;
    this.heldBytes += bodyBytes - turnaround.heldBytes;
    turnaround.heldBytes = bodyBytes;
  }

  get hasHeld(): bool {
    return this.admission.held.count > 0;
  }

  /** The next request that may go on, or null. */
  release(loads: Loads, nowMs: u64): AdmissionCall | null {
    this.subset.mark(loads);
    return this.admission.release(loads, nowMs);
  }

  /** The next request that has waited too long, or null. */
  overdue(loads: Loads, nowMs: u64): AdmissionCall | null {
    this.subset.mark(loads);
    const call = this.admission.overdue(loads, nowMs);
    if (call !== null) this.meters.count(Counter.AdmissionOverdue);
    return call;
  }

  /** A waiting request goes on, or its client left. */
  leave(turnaround: Turnaround): void {
    this.heldBytes -= turnaround.heldBytes;
    turnaround.heldBytes = 0;
  }

  /** A request that did not wait leaves for an endpoint, or another one served it than was thought. */
  send(turnaround: Turnaround, loads: Loads, slot: i32, nowMs: u64): void {
    const call = turnaround.call;
    if (call.slot == slot) return;
    if (call.slot != NO_SLOT) this.admission.abandon(call);
    if (call.session == 0) return;
    const row = candidateOf(loads, slot);
    const queued = row == NO_INDEX ? 0 : loads.pendingPrefill[row];
    this.admission.send(call, slot, queued, nowMs);
  }

  firstByte(turnaround: Turnaround): void {
    this.admission.firstByte(turnaround.call);
  }

  /** An answer ended: the session's context is what it was plus the answer. */
  end(turnaround: Turnaround, answer: Answer, teacher: Teacher, nowMs: u64): void {
    const call = turnaround.call;
    if (answer.promptTokens > 0) call.promptTokens = <f64>answer.promptTokens;
    const evidence = this.evidence;
    evidence.cachedTokens = <f64>answer.knownCachedTokens;
    evidence.outputTokens = answer.outputTokens == NOT_TOLD ? -1 : <f64>answer.outputTokens;
    evidence.ttftSeconds = turnaround.ttftSeconds;
    evidence.uncachedSeconds = teacher.uncachedSeconds;
    evidence.stop = stopClassOf(answer.finishReason);
    this.admission.end(call, evidence, nowMs);
  }

  /** The stream is over without an answer, held or not. May be called again. */
  abandon(turnaround: Turnaround): void {
    this.leave(turnaround);
    this.admission.abandon(turnaround.call);
  }

  tick(nowMs: u64): void {
    this.admission.tick(nowMs);
    if (!isDue(this.gaugedMs, GAUGE_MS, nowMs)) return;
    this.gaugedMs = nowMs;
    for (let slot = 0; slot < this.admission.endpoints.end; slot++) {
      const generation = this.fleet.generationOf(slot);
      if (generation == 0) continue;
      this.admission.noteEndpoint(slot, <u32>generation);
      this.admission.noteInFlight(slot, this.fleet.inFlightOf(slot, nowMs));
    }
    this.gauges.publish(this.admission);
  }

  /** It should wait, and goes on because no place is left to wait in. */
  private letPass(): Verdict {
    this.meters.count(Counter.AdmissionUnheld);
    return Verdict.Pass;
  }
}

function toRule(options: Options): AdmissionOptions {
  const rule = new AdmissionOptions();
  const oldest = options.admissionOrder == AdmissionOrder.OldestSession;
  rule.order = oldest ? HoldOrder.OldestSession : HoldOrder.Fifo;
  rule.capacityTokens = <f64>options.admissionCapacityTokens;
  rule.windowShare = <f64>options.admissionWindowPercent / 100;
  rule.holdLimitMs = <u64>options.admissionHoldLimitMs;
  rule.maxHeld = options.admissionMaxHeld;
  rule.refuseFirstTurns = options.admissionRefuseFirstTurns;
  return rule;
}

function describe(call: AdmissionCall, turnaround: Turnaround, ticket: u32): void {
  const request = turnaround.request;
  const homes = turnaround.homes;
  const known = homes.count > 0;
  call.reset();
  call.ticket = ticket;
  call.session = turnaround.session;
  call.tenant = turnaround.tenant;
  call.home = known ? homes.slots[0] : NO_SLOT;
  call.promptTokens = <f64>request.promptTokens;
  call.expectedTokens = known ? <f64>homes.prefixTokens[0] : 0;
  call.sharedTokens = <f64>request.headTokens;
}

function stopClassOf(reason: FinishReason): StopClass {
  if (reason == FinishReason.ToolUse) return StopClass.Tool;
  return reason == FinishReason.EndTurn ? StopClass.EndTurn : StopClass.Other;
}

/** Why a request goes where admission found room for it at once. */
export function unheldReason(turnaround: Turnaround): Reason {
  const call = turnaround.call;
  if (call.slot == NO_ENDPOINT || !isFollowUp(turnaround.homes)) {
    return placementReason(turnaround.request);
  }
  return call.slot == call.home ? Reason.Home : Reason.Migrate;
}
