// SPDX-License-Identifier: Apache-2.0
// Agents, a gateway and a fleet of engines on one virtual clock, event by event.
import TinyQueue from "tinyqueue";
import { EngineRefusal } from "../../../mock-gpu/engine/engine.ts";
import type { RequestInit, ServedRequest } from "../../../mock-gpu/engine/request.ts";
import { KnownPrefixes } from "../../measures/known-prefixes.ts";
import type { ArmRun, CallRecord } from "../../measures/record.ts";
import { promptTokensOf } from "../../workloads/session.ts";
import type { FleetEvent } from "../../events.ts";
import { type Chance, chance } from "../../workloads/random.ts";
import {
  type Arrival,
  type Disturbance,
  type ReplayPlan,
  UNDISTURBED,
  type Watcher,
} from "../driver.ts";
import { type Gateway, type Passage, type ReportedUsage, UNTOLD } from "./gateway.ts";
import { PromptHashes } from "./prompt-hashes.ts";
import { VirtualFleet } from "./virtual-fleet.ts";

const TICK_MS = 5_000;
/** Agents try a call that failed again after this time. */
const RETRY_MS = 1_000;
/** More users come over this time. */
const RISE_MS = 60_000;

interface Event {
  atMs: number;
  order: number;
  run: () => void;
}

/** One session under way. */
interface Progress {
  arrival: Arrival;
  hashes: PromptHashes;
  ended: boolean[];
  open: number;
}

/** Runs one arm to the plan's limit. */
export class Simulation {
  private readonly fleet: VirtualFleet;
  private readonly disturbance: Disturbance;
  private readonly draws: Chance;
  private readonly inFlight: number[];
  private readonly queue = new TinyQueue<Event>([], (a, b) => a.atMs - b.atMs || a.order - b.order);
  private readonly known: KnownPrefixes;
  private readonly run: ArmRun;
  private nowMs = 0;
  private events = 0;
  private passages = 0;
  private refills = 0;
  private openSessions = 0;
  /** Sessions that a closed population is kept at. */
  private wantedSessions: number;

  constructor(
    arm: string,
    private readonly plan: ReplayPlan,
    private readonly gateway: Gateway,
    private readonly watcher: Watcher,
  ) {
    this.disturbance = plan.disturbance ?? UNDISTURBED;
    this.fleet = new VirtualFleet(plan.fleet, this.disturbance.events);
    this.draws = chance(plan.seed, "disturbance");
    this.wantedSessions = plan.arrivals.length;
    this.known = new KnownPrefixes(plan.fleet.blockTokens, (session) => session.app.headTokens);
    const { endpoints } = plan.fleet;
    this.inFlight = new Array<number>(endpoints).fill(0);
    this.run = {
      arm,
      endpoints,
      records: [],
      finishedSessions: new Set(),
      unfinishedSessions: 0,
      measureFromMs: plan.warmupMs,
      endMs: plan.limitMs,
    };
    for (const arrival of plan.arrivals) this.begin(arrival);
    for (const event of this.disturbance.events) this.at(event.atMs, () => this.happen(event));
    this.at(TICK_MS, () => this.tick());
  }

  /** Events so far: calls, first tokens and ends, and engine steps. */
  get eventCount(): number {
    return this.events + this.fleet.steps;
  }

  /** Goes on for about `budget` events. @returns whether the arm is done */
  advance(budget: number): boolean {
    for (let i = 0; i < budget; i++) {
      if (this.openSessions === 0 || !this.step()) return true;
    }
    return false;
  }

  finish(): ArmRun {
    this.run.unfinishedSessions = this.openSessions;
    this.run.endMs = Math.min(this.plan.limitMs, this.nowMs);
    return this.run;
  }

  private step(): boolean {
    const engineMs = this.fleet.nextEventMs();
    const event = this.queue.peek();
    const eventMs = event?.atMs ?? Infinity;
    const gatewayMs = this.gateway.nextMs();
    const atMs = Math.min(engineMs, eventMs, gatewayMs);
    if (atMs > this.plan.limitMs) return false;
    this.nowMs = atMs;
    if (gatewayMs === atMs) {
      this.gateway.advance(atMs);
      return true;
    }
    if (engineMs < eventMs) {
      this.fleet.advance(atMs);
      return true;
    }
    this.events++;
    this.queue.pop()!.run();
    return true;
  }

  private at(atMs: number, run: () => void): void {
    this.queue.push({ atMs, order: this.events++, run });
  }

  private tick(): void {
    this.watcher.tick(this.nowMs, this.inFlight);
    this.at(this.nowMs + TICK_MS, () => this.tick());
  }

  private begin(arrival: Arrival): void {
    this.openSessions++;
    const { calls } = arrival.session;
    const progress: Progress = {
      arrival,
      hashes: new PromptHashes(arrival.session, this.plan.fleet.blockTokens),
      ended: calls.map((_, index) => index < arrival.firstCall),
      open: calls.length - arrival.firstCall,
    };
    calls.forEach((call, index) => {
      if (index < arrival.firstCall) return;
      const ready = call.after.every((other) => progress.ended[other]);
      if (ready) this.at(arrival.startMs, () => this.issue(progress, index));
    });
  }

  private issue(progress: Progress, index: number): void {
    const { session } = progress.arrival;
    const call = session.calls[index]!;
    const promptTokens = promptTokensOf(session, call);
    const passage: Passage = {
      id: this.passages++,
      session,
      call,
      promptTokens,
      endpoint: -1,
      seenTurn: null,
      verifiedTurn: null,
      decision: null,
    };
    const possibleTokens = this.known.find(session, call);
    const arrivedMs = this.nowMs;
    this.gateway.place(passage, arrivedMs, () => {
      const record = this.recordOf(progress, index, passage, possibleTokens, arrivedMs);
      this.submit(progress, index, passage, record);
    });
  }

  private submit(progress: Progress, index: number, passage: Passage, record: CallRecord): void {
    const { call, promptTokens, endpoint } = passage;
    this.inFlight[endpoint]!++;
    let first = true;
    const init: RequestInit = {
      prompt: { blockHashes: progress.hashes.of(call), promptTokens },
      outputTokens: call.answer.tokens,
      endsInWait: call.answer.callsTool,
      sink: {
        tokens: () => {
          if (!first) return;
          first = false;
          this.gateway.firstToken(passage, this.nowMs);
        },
        end: (request) => this.end(progress, index, passage, record, request),
      },
    };
    try {
      if (this.fleet.submit(endpoint, init, this.nowMs)) return;
      record.error = "the endpoint is down";
    } catch (error) {
      if (!(error instanceof EngineRefusal)) throw error;
      record.error = error.message;
    }
    this.end(progress, index, passage, record, null);
  }

  private end(
    progress: Progress,
    index: number,
    passage: Passage,
    record: CallRecord,
    request: ServedRequest | null,
  ): void {
    this.inFlight[passage.endpoint]!--;
    record.endedMs = this.nowMs;
    const isLost = request?.endReason === "aborted";
    if (isLost) record.error = "the endpoint failed";
    else if (request !== null) fillFrom(record, request);
    if (!isLost) {
      this.known.learn(passage.session, passage.call, record.promptTokens, record.outputTokens);
    }
    const isServed = request !== null && !isLost;
    this.gateway.ended(passage, isServed ? this.told(record) : null, this.nowMs);
    this.run.records.push(record);
    this.watcher.ended(record);
    const isDown = this.fleet.isDown(passage.endpoint);
    if (isLost || isDown) this.at(this.nowMs + RETRY_MS, () => this.issue(progress, index));
    else this.goOn(progress, index);
  }

  /** What the engine says of an answer, or what it says falsely. */
  private told(record: CallRecord): ReportedUsage | typeof UNTOLD {
    const { hidesUsage, falseReports } = this.disturbance;
    if (hidesUsage) return UNTOLD;
    const usage = usageOf(record);
    if (falseReports > 0 && this.draws.uniform() < falseReports) usage.cachedTokens = 0;
    return usage;
  }

  private happen(event: FleetEvent): void {
    if (event.kind === "sessions") {
      this.wantedSessions = event.sessions;
      this.refill(RISE_MS);
      return;
    }
    const all = Array.from({ length: this.plan.fleet.endpoints }, (_, index) => index);
    const endpoints = event.endpoints.length === 0 ? all : event.endpoints;
    for (const endpoint of endpoints) this.change(endpoint, event);
  }

  private change(endpoint: number, event: Exclude<FleetEvent, { kind: "sessions" }>): void {
    if (event.kind === "kv") return this.fleet.resizeCache(endpoint, event.kvTokens, this.nowMs);
    if (event.kind === "up") this.fleet.revive(endpoint);
    else this.fleet.fail(endpoint, this.nowMs, event.kind === "down");
    if (event.kind !== "restart") this.gateway.setAlive?.(endpoint, event.kind === "up");
  }

  /** Fills up the population, new sessions spread over a time. */
  private refill(spreadMs: number): void {
    const { refill } = this.plan;
    while (refill !== null && this.openSessions < this.wantedSessions) {
      const delayMs = spreadMs === 0 ? 0 : this.draws.uniform() * spreadMs;
      this.begin(refill(this.refills++, this.nowMs + delayMs));
    }
  }

  private goOn(progress: Progress, index: number): void {
    const { session } = progress.arrival;
    progress.ended[index] = true;
    progress.open--;
    session.calls.forEach((call, other) => {
      if (other <= index || !call.after.includes(index)) return;
      if (!call.after.every((before) => progress.ended[before])) return;
      this.at(this.nowMs + call.gapMs, () => this.issue(progress, other));
    });
    if (progress.open > 0) return;
    this.openSessions--;
    if (progress.arrival.firstCall === 0) this.run.finishedSessions.add(session.id);
    this.watcher.sessionFinished();
    this.refill(0);
  }

  private recordOf(
    progress: Progress,
    index: number,
    passage: Passage,
    possibleTokens: number,
    arrivedMs: number,
  ): CallRecord {
    const { session, call } = passage;
    const first = index === progress.arrival.firstCall;
    return {
      session: session.id,
      app: session.app.name,
      call: index,
      turn: call.turn,
      endpoint: passage.endpoint,
      startedMs: arrivedMs,
      firstTokenMs: this.nowMs,
      endedMs: this.nowMs,
      promptTokens: passage.promptTokens,
      localTokens: 0,
      fetchedTokens: 0,
      possibleTokens,
      outputTokens: 0,
      preemptions: 0,
      holdMs: this.nowMs - arrivedMs,
      queueMs: 0,
      fetchMs: 0,
      seenTurn: passage.seenTurn,
      verifiedTurn: passage.verifiedTurn,
      decision: passage.decision,
      gapMs: first ? 0 : call.gapMs,
      gap: call.gap,
      error: null,
    };
  }
}

function fillFrom(record: CallRecord, request: ServedRequest): void {
  record.firstTokenMs = request.firstTokenMs;
  record.fetchMs = request.fetchMs;
  record.queueMs = request.firstScheduledMs - request.arrivalMs - request.fetchMs;
  record.outputTokens = request.generated;
  record.preemptions = request.preemptions;
  record.fetchedTokens = Math.min(request.fetchedTokens, Math.max(0, request.cachedTokens));
  record.localTokens = Math.max(0, request.cachedTokens) - record.fetchedTokens;
}

function usageOf(record: CallRecord): ReportedUsage {
  return {
    promptTokens: record.promptTokens,
    cachedTokens: record.localTokens + record.fetchedTokens,
    outputTokens: record.outputTokens,
  };
}
