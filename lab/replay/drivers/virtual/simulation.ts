// SPDX-License-Identifier: Apache-2.0
// Agents, a gateway and a fleet of engines on one virtual clock, event by event.
import TinyQueue from "tinyqueue";
import { Cluster } from "../../../mock-gpu/engine/cluster.ts";
import { Engine, EngineRefusal } from "../../../mock-gpu/engine/engine.ts";
import { KvTier } from "../../../mock-gpu/engine/kv-tier.ts";
import { Disaggregation } from "../../../mock-gpu/engine/disaggregation.ts";
import type { RequestInit, ServedRequest } from "../../../mock-gpu/engine/request.ts";
import { PRESETS } from "../../../mock-gpu/engine/step-cost.ts";
import { KnownPrefixes } from "../../measures/known-prefixes.ts";
import type { ArmRun, CallRecord } from "../../measures/record.ts";
import { promptTokensOf } from "../../workloads/session.ts";
import type { Arrival, FleetPlan, ReplayPlan, Watcher } from "../driver.ts";
import type { Gateway, Passage } from "./gateway.ts";
import { PromptHashes } from "./prompt-hashes.ts";

const TICK_MS = 5_000;
/** What leaves one prefill engine towards the decode pool, 10^9 bytes a second: eight 100G links. */
const PREFILL_LINK_GBPS = 100;

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

function buildEngines(plan: FleetPlan): Engine[] {
  const { preset, cost, kvTokens, blockTokens, globalTokens, globalGbps } = plan;
  const tiers =
    globalTokens === 0 || globalGbps === 0
      ? []
      : [
          new KvTier({
            name: "global",
            capacityTokens: globalTokens,
            blockTokens,
            bytesPerToken: PRESETS[preset].kvBytesPerToken,
            readGbPerS: globalGbps,
          }),
        ];
  return Array.from(
    { length: plan.endpoints + plan.decodeEndpoints },
    () => new Engine({ preset, cost, kvTokens, blockTokens, tiers }),
  );
}

/** Runs one arm to the plan's limit. */
export class Simulation {
  private readonly fleet: Cluster;
  /** Null where every endpoint prefills and decodes. */
  private readonly pools: Disaggregation | null;
  private readonly inFlight: number[];
  private readonly queue = new TinyQueue<Event>([], (a, b) => a.atMs - b.atMs || a.order - b.order);
  private readonly known: KnownPrefixes;
  private readonly run: ArmRun;
  private nowMs = 0;
  private events = 0;
  private passages = 0;
  private refills = 0;
  private openSessions = 0;

  constructor(
    arm: string,
    private readonly plan: ReplayPlan,
    private readonly gateway: Gateway,
    private readonly watcher: Watcher,
  ) {
    this.fleet = new Cluster(buildEngines(plan.fleet));
    this.known = new KnownPrefixes(plan.fleet.blockTokens, (session) => session.app.headTokens);
    const { endpoints, decodeEndpoints } = plan.fleet;
    this.pools =
      decodeEndpoints === 0
        ? null
        : new Disaggregation(this.fleet, {
            prefill: endpoints,
            decode: decodeEndpoints,
            transferGbPerS: PREFILL_LINK_GBPS,
          });
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
    this.at(TICK_MS, () => this.tick());
  }

  /** Events so far: calls, first tokens and ends, and engine steps. */
  get eventCount(): number {
    return this.events + this.fleet.engines.reduce((sum, engine) => sum + engine.counters.steps, 0);
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
      if (this.pools === null) this.fleet.submit(endpoint, init, this.nowMs);
      else this.pools.submit(endpoint, init, this.nowMs);
    } catch (error) {
      if (!(error instanceof EngineRefusal)) throw error;
      record.error = error.message;
      this.end(progress, index, passage, record, null);
    }
  }

  private end(
    progress: Progress,
    index: number,
    passage: Passage,
    record: CallRecord,
    request: ServedRequest | null,
  ): void {
    this.inFlight[passage.endpoint]!--;
    if (request !== null) fillFrom(record, request);
    record.endedMs = this.nowMs;
    this.known.learn(passage.session, passage.call, record.promptTokens, record.outputTokens);
    this.gateway.ended(passage, request === null ? null : usageOf(record), this.nowMs);
    this.run.records.push(record);
    this.watcher.ended(record);
    this.goOn(progress, index);
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
    if (this.plan.refill !== null) this.begin(this.plan.refill(this.refills++, this.nowMs));
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

function usageOf(record: CallRecord): {
  promptTokens: number;
  cachedTokens: number;
  outputTokens: number;
} {
  return {
    promptTokens: record.promptTokens,
    cachedTokens: record.localTokens + record.fetchedTokens,
    outputTokens: record.outputTokens,
  };
}
