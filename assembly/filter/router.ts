// SPDX-License-Identifier: Apache-2.0
// From a request that was read to a decision that Envoy was told, and from an answer to what is remembered.
import { propertyPath, readInteger } from "../host/properties";
import { HeaderMapType } from "../host/status";
import { hashText } from "../hash/text";
import { fold, mix } from "../hash/mix";
import { Mode, Options } from "../config/options";
import { Affinity } from "../memory/affinity";
import { Fleet } from "../memory/fleet";
import { HeldAnswers } from "../memory/held-answers";
import { Homes } from "../memory/homes";
import { Learned } from "../memory/learned";
import { Loads } from "../memory/loads";
import { NO_SLOT } from "../memory/roster";
import { SharedStore } from "../memory/shared-store";
import { Counter, Meters } from "../metrics/meters";
import { Reason } from "../metrics/reason";
import { Dialect, Reading, Request } from "../request/request";
import { scaleTokens } from "../request/token-scale";
import { Verdict } from "../scheduling/admission/admission";
import { AdmissionCall } from "../scheduling/admission/admission-call";
import { AnswerScanners } from "../response/answer-scanner";
import { Outcome as Answer } from "../response/outcome";
import { NO_ENDPOINT } from "../scheduling/decision";
import { RoutingOptions } from "../scheduling/routing/options";
import { policyOf } from "../scheduling/routing/policies";
import { candidateOf, leaveToEnvoy, NO_INDEX, Policy, sendTo } from "../scheduling/routing/policy";
import { Admitter, unheldReason } from "./admitter";
import { removeDecision, writeDecision } from "./decision-headers";
import { Steering } from "./steering/steering";
import { isDisaggregated, steeringOf } from "./steering/ways";
import { Fleets } from "./fleets";
import { pinnedSlot, PinWitness, slotThatAnswered } from "./pin-witness";
import { Prioritizer, prioritizerOf } from "./prioritizer";
import { Teacher } from "./teacher";
import { Turnaround } from "./turnaround";

const NUM_ENDPOINTS = propertyPath("upstream.num_endpoints");

/** All that a worker needs to decide; one per plugin configuration and VM. */
@final
export class Router {
  readonly steering: Steering;
  /** Nothing is written and nothing is held: decisions are only counted. */
  readonly observes: bool;
  private readonly exposes: bool;
  /** The decision is written to requests, beside the endpoint. */
  private readonly writesDecision: bool;
  private readonly affinity: Affinity;
  private readonly policy: Policy;
  private readonly learned: Learned;
  private readonly teacher: Teacher;
  /** Answer readers of all streams share its stock. */
  readonly scanners: AnswerScanners = new AnswerScanners();
  private readonly loads: Loads = new Loads();
  private readonly heldAnswers: HeldAnswers;
  readonly fleets: Fleets;
  private readonly prioritizer: Prioritizer | null;
  private readonly witness: PinWitness = new PinWitness();
  /** The chance of the request at hand. */
  private drawn: u64 = 0;
  /** Whose loads these are. */
  private loaded: Fleet | null = null;
  private chance: u64;

  constructor(
    private readonly options: Options,
    store: SharedStore,
    private readonly meters: Meters,
    vm: u64,
  ) {
    const steering = steeringOf(options);
    this.steering = steering;
    this.observes = options.mode == Mode.Observe;
    this.exposes = options.exposeDecision && options.mode != Mode.Observe;
    this.writesDecision = options.decisionHeaders || !steering.namesEndpoint;
    const affinity = new Affinity(store, options.affinitySessions);
    affinity.keepsAnswers = !isDisaggregated(options);
    this.affinity = affinity;
    this.teacher = new Teacher(options, affinity, meters);
    this.fleets = new Fleets(options, store, meters, vm);
    this.prioritizer = prioritizerOf(options, store);
    this.heldAnswers = new HeldAnswers(store, options.affinitySessions);
    const routing = new RoutingOptions();
    routing.firstTurn = options.firstTurn;
    routing.tier = options.tier;
    routing.prefillPool = isDisaggregated(options);
    routing.gateways = options.gatewaysCount;
    routing.shortPromptTokens = options.shortPromptTokens;
    const learned = new Learned();
    this.learned = learned;
    this.policy = policyOf(options.policy, routing, learned);
    this.chance = vm;
  }

  /** Shares what this worker counted and learned, and looks after its fleets. */
  tick(nowMs: u64): void {
    this.teacher.save(nowMs);
    this.meters.give();
    this.fleets.tick(nowMs);
  }

  /** Decides the request of a stream and tells Envoy; called once, while its headers can still be written. */
  decide(turnaround: Turnaround, ticket: u32, bodyBytes: u32, mayHold: bool, nowMs: u64): Verdict {
    const request = turnaround.request;
    const cluster = this.fleets.ofRoute(turnaround.route, nowMs);
    const fleet = cluster !== null ? cluster.fleet : null;
    turnaround.fleet = fleet; // Load counts for what is no conversation, too.
    if (request.turn == 0) {
      this.prioritize(turnaround, nowMs);
      if (turnaround.forged) removeDecision(HeaderMapType.Request);
      return Verdict.Pass; // Forwarded as it came.
    }
    turnaround.session = sessionOf(request);
    if (fleet !== null) {
      if (cluster !== null && cluster.isCountDue(nowMs)) {
        fleet.noteMembers(<i32>readInteger(NUM_ENDPOINTS, 0));
      }
      fleet.recall(this.learned, request.unsaltedModel, nowMs);
      scaleTokens(request, this.learned.tokenScale);
      this.affinity.find(request, fleet, turnaround.homes, nowMs);
      this.load(turnaround, fleet, nowMs);
      turnaround.admitter = cluster !== null ? cluster.admitter : null;
      const verdict = this.admit(turnaround, ticket, bodyBytes, mayHold, nowMs);
      if (verdict != Verdict.Pass) return verdict;
      this.pick(turnaround, fleet, nowMs);
    }
    this.conclude(turnaround, nowMs);
    return Verdict.Pass;
  }

  /**
   * Admission lets a request go on: it is sent where its context fits, or where Envoy says.
   * @param waited it did not find room as it came
   */
  decideAdmitted(turnaround: Turnaround, waited: bool, nowMs: u64): void {
    const call = turnaround.call;
    const cached = <u32>max(0, call.promptTokens - call.uncachedTokens);
    const decision = turnaround.decision;
    const reason = waited ? Reason.Admitted : unheldReason(turnaround);
    if (call.slot == NO_ENDPOINT) leaveToEnvoy(turnaround.request, reason, decision);
    else sendTo(call.slot, reason, turnaround.request, cached, decision);
    this.conclude(turnaround, nowMs);
  }

  /** Fills the loads of a fleet as one request sees them; they stay until the next one. */
  load(turnaround: Turnaround, fleet: Fleet, nowMs: u64): void {
    this.drawn = this.nextChance();
    this.loaded = fleet;
    fleet.load(this.loads, turnaround.request, turnaround.homes, nowMs, this.drawn);
  }

  /** The next waiting request that may go on, given the loads; null when none may. */
  nextAdmitted(admitter: Admitter, nowMs: u64): AdmissionCall | null {
    const call = admitter.release(this.loads, nowMs);
    return call !== null ? call : admitter.overdue(this.loads, nowMs);
  }

  private admit(
    turnaround: Turnaround,
    ticket: u32,
    bodyBytes: u32,
    mayHold: bool,
    nowMs: u64,
  ): Verdict {
    const admitter = turnaround.admitter;
    if (admitter === null || turnaround.request.identity.isFinal) return Verdict.Pass;
    if (!mayHold && !this.options.admissionDryRun) return Verdict.Pass;
    const isNew = turnaround.homes.count == 0 || this.loads.count == 0;
    if (isNew && admitter.scouts.takes(this.loads, nowMs)) return Verdict.Pass;
    const verdict = admitter.arrive(turnaround, ticket, bodyBytes, this.loads, nowMs);
    if (!this.options.admissionDryRun || verdict != Verdict.Hold) return verdict;
    // A dry run counts whom no room is found for at once, and lets everybody go.
    const released = admitter.release(this.loads, nowMs);
    if (released === null) this.meters.count(Counter.AdmissionWouldHold);
    admitter.abandon(turnaround);
    return Verdict.Pass;
  }

  private pick(turnaround: Turnaround, fleet: Fleet, nowMs: u64): void {
    const request = turnaround.request;
    const homes = turnaround.homes;
    const decision = turnaround.decision;
    const holder = this.heldAnswers.find(request.previousResponse, fleet, nowMs);
    if (holder != NO_SLOT) {
      // Nobody else can answer: no policy is asked.
      continueHeld(request, homes, this.heldAnswers.turn);
      const cached = homes.count > 0 ? homes.prefixTokens[0] : 0;
      sendTo(holder, Reason.Held, request, cached, decision);
      return;
    }
    this.policy.pick(request, homes, this.loads, nowMs, this.drawn, decision);
    this.keepHome(turnaround);
    if (homes.shared && decision.slot != NO_ENDPOINT) {
      this.affinity.reserve(homes, fleet, decision.slot);
    }
  }

  /** Admission overrules a policy that would move a session where there is no room for it. */
  private keepHome(turnaround: Turnaround): void {
    const admitter = turnaround.admitter;
    const decision = turnaround.decision;
    const row = candidateOf(this.loads, decision.slot);
    if (admitter === null || row == NO_INDEX || this.options.admissionDryRun) return;
    const call = turnaround.call;
    if (call.session == 0 || admitter.admission.mayMove(call, row, this.loads)) return;
    const cached = turnaround.homes.prefixTokens[0];
    sendTo(call.home, Reason.Home, turnaround.request, cached, decision);
  }

  private conclude(turnaround: Turnaround, nowMs: u64): void {
    this.countDecision(turnaround);
    this.prioritize(turnaround, nowMs);
    if (!this.observes) this.tell(turnaround, nowMs);
  }

  private prioritize(turnaround: Turnaround, nowMs: u64): void {
    const prioritizer = this.prioritizer;
    if (prioritizer === null || this.observes) return;
    prioritizer.send(turnaround, this.learned, nowMs);
  }

  /**
   * Notes who answered with 2xx: the endpoint holds the prompt's KV cache now.
   * @param namesEndpoint the response itself says that it was another one than the pinned one
   */
  noteServed(turnaround: Turnaround, namesEndpoint: bool, nowMs: u64): void {
    const fleet = turnaround.fleet;
    if (fleet === null) return;
    const slot = this.servingSlot(turnaround, fleet, namesEndpoint, nowMs);
    if (slot == NO_SLOT) return;
    turnaround.servedSlot = slot;
    fleet.served(turnaround.request, turnaround.homes, slot, nowMs);
    const pinned = pinnedSlot(turnaround);
    if (pinned != NO_SLOT) this.countPin(fleet, pinned, slot, nowMs);
    if (turnaround.flight.slot == slot) return;
    fleet.finish(turnaround.flight);
    this.send(turnaround, fleet, slot, nowMs);
  }

  /** Slot of the endpoint that computed the prompt: the one that answered, or the prefill endpoint that was named. */
  private servingSlot(turnaround: Turnaround, fleet: Fleet, namesEndpoint: bool, nowMs: u64): i32 {
    if (this.fleets.prefill !== null) return pinnedSlot(turnaround);
    const witness = this.steering.isWitnessed ? this.witness : null;
    const fleets = this.steering.namesEndpoint ? this.fleets : null; // Else the decision itself changes the route.
    return slotThatAnswered(turnaround, fleet, fleets, witness, namesEndpoint, nowMs);
  }

  /** The first byte of the answer has come: the prompt is computed. */
  noteFirstByte(turnaround: Turnaround): void {
    const fleet = turnaround.fleet;
    if (fleet !== null) fleet.firstByte(turnaround.flight);
    const admitter = turnaround.admitter;
    if (admitter !== null) admitter.firstByte(turnaround);
  }

  /** Stores the request with the endpoint that served it, once, when both are known. */
  learn(turnaround: Turnaround, nowMs: u64): void {
    const fleet = turnaround.fleet;
    const slot = turnaround.servedSlot;
    if (fleet === null || slot == NO_SLOT || turnaround.learned) return;
    const request = turnaround.request;
    if (request.reading != Reading.Conversation || request.ambiguous) return;
    turnaround.learned = true;
    this.affinity.learn(request, fleet, turnaround.homes, slot, nowMs);
  }

  /** Learns from a finished answer. */
  teach(turnaround: Turnaround, answer: Answer, nowNs: u64, nowMs: u64): void {
    const fleet = turnaround.fleet;
    const slot = turnaround.servedSlot;
    if (fleet === null || slot == NO_SLOT) return;
    const request = turnaround.request;
    if (answer.responseId != 0 && request.dialect == Dialect.Responses) {
      const id = fold(turnaround.tenant, answer.responseId);
      this.heldAnswers.learn(id, request.previousResponse, fleet, slot, request.turn);
    }
    if (request.identity.isFinal) this.affinity.freeSession(request.session);
    this.teacher.teach(turnaround, answer, nowNs, nowMs);
    const admitter = turnaround.admitter;
    if (admitter !== null && answer.firstByte) {
      admitter.end(turnaround, answer, this.teacher, nowMs);
    }
  }

  /** Closes the books of a stream: whatever it counted for is taken back. */
  finish(turnaround: Turnaround, answer: Answer, nowMs: u64): void {
    const fleet = turnaround.fleet;
    if (fleet !== null) fleet.finish(turnaround.flight);
    const admitter = turnaround.admitter;
    if (admitter !== null) admitter.abandon(turnaround);
    const prioritizer = this.prioritizer;
    if (prioritizer !== null) prioritizer.finish(turnaround, answer, this.learned, nowMs);
  }

  /** Writes the decision to a header map: to the upstream, or to the client when the operator wants it there. */
  writeHeaders(map: HeaderMapType, turnaround: Turnaround): bool {
    const homes = turnaround.homes;
    const prefixTokens = homes.count > 0 ? homes.prefixTokens[0] : 0;
    return writeDecision(
      map,
      turnaround.request.turn,
      homes.verifiedTurn,
      turnaround.session,
      prefixTokens,
      turnaround.decision.reason,
    );
  }

  /** Whether the exact end of a stream matters even where its answer was not timed. */
  get needsEnd(): bool {
    return this.prioritizer !== null;
  }

  /** Whether every request that is decided leaves with the decision in its headers. */
  get overwrites(): bool {
    return !this.observes && this.writesDecision && this.steering.needsHold;
  }

  get exposesDecision(): bool {
    return this.exposes;
  }

  private tell(turnaround: Turnaround, nowMs: u64): void {
    const fleet = turnaround.fleet;
    const slot = turnaround.decision.slot;
    if (this.overwrites && !this.writeHeaders(HeaderMapType.Request, turnaround)) return;
    if (fleet === null || slot == NO_ENDPOINT || !this.steering.namesEndpoint) return;
    const size = fleet.addressSizeOf(slot);
    if (size == 0 || !this.steering.steer(fleet.addressOf(slot), <u32>size)) return;
    turnaround.pinned = true;
    turnaround.pinnedGeneration = fleet.generationOf(slot);
    this.meters.count(Counter.PinsSet);
    this.send(turnaround, fleet, slot, nowMs);
  }

  private send(turnaround: Turnaround, fleet: Fleet, slot: i32, nowMs: u64): void {
    if (this.loaded !== fleet) this.load(turnaround, fleet, nowMs); // Since then another fleet had a request.
    const row = candidateOf(this.loads, slot);
    if (row != NO_INDEX) {
      turnaround.queuedTokens = this.loads.pendingPrefill[row];
      turnaround.contextTokens = this.loads.context[row];
    }
    const admitter = turnaround.admitter;
    if (admitter !== null) admitter.send(turnaround, this.loads, slot, nowMs);
    const uncached = turnaround.decision.uncachedTokens;
    fleet.send(turnaround.flight, slot, uncached, turnaround.request.promptTokens);
    // Where requests without a home go is decided by loads alone: those of a burst must see each other.
    if (turnaround.homes.count == 0) fleet.publish(nowMs);
  }

  private countDecision(turnaround: Turnaround): void {
    const request = turnaround.request;
    const homes = turnaround.homes;
    const meters = this.meters;
    meters.countReason(turnaround.decision.reason);
    meters.sampleTurn(request.turn);
    const disagrees = request.turnHint > 0 && request.turnHint != request.turn;
    if (disagrees && !request.historyHeld) meters.count(Counter.HintsDisagree);
    meters.count(Counter.PromptTokens, request.promptTokens);
    if (homes.verifiedTurn <= 1) return;
    meters.count(Counter.FollowUps);
    if (homes.count > 0) meters.count(Counter.PrefixTokens, homes.prefixTokens[0]);
  }

  private countPin(fleet: Fleet, pinned: i32, served: i32, nowMs: u64): void {
    if (pinned == served) {
      this.meters.count(Counter.PinsObeyed);
      return;
    }
    this.meters.count(Counter.PinsMoved);
    fleet.disobeyed(pinned, nowMs);
  }

  /** xorshift64: chance among equals, not a secret. */
  private nextChance(): u64 {
    let chance = this.chance;
    chance ^= chance << 13;
    chance ^= chance >> 7;
    chance ^= chance << 17;
    this.chance = chance;
    return chance;
  }
}

/** The server holds the history, but its last turn was counted here: the body's own runs come on top. */
function continueHeld(request: Request, homes: Homes, heldTurn: i32): void {
  if (heldTurn == 0) return;
  request.turn = max(request.turnHint, heldTurn + request.turn - 1);
  homes.verifiedTurn = heldTurn + 1;
}

/** The session key: the told one, else that of the conversation's opening (model, salt and first boundary). */
function sessionOf(request: Request): u64 {
  if (request.session != 0) return request.session;
  return request.boundaryCount > 0 ? mix(request.boundaries[0].chain ^ request.model) : 0;
}
