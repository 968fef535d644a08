// SPDX-License-Identifier: Apache-2.0
// Agents over HTTP in scaled real time: every session a closed loop, every call timed at the client.
import { setMaxListeners } from "node:events";
import { Agent } from "undici";
import { PRESETS } from "../../../mock-gpu/engine/step-cost.ts";
import { countTokens } from "../../../mock-gpu/http/tokenizer.ts";
import { ChatBodies } from "../../bodies/chat-body.ts";
import { KnownPrefixes } from "../../measures/known-prefixes.ts";
import type { ArmRun, CallRecord } from "../../measures/record.ts";
import type { App, Call, Session } from "../../workloads/session.ts";
import type { Arrival, ReplayPlan, Watcher } from "../driver.ts";
import { chat, type ChatAnswer } from "./chat-client.ts";
import { runSession, ScaledClock } from "./session-loop.ts";
import { CALL_HEADER, type Target } from "./target.ts";

const TICK_REAL_MS = 500;
const BYTES_PER_TOKEN = 4;

/** How simulated time follows real time. */
export interface Pace {
  /** Simulated milliseconds per real one. */
  speedup: number;
  /** The real clock. */
  realMs: () => number;
  /** No call is made after this many milliseconds on the machine's own clock. */
  patienceMs?: number;
}

/** One arm under way. */
export class ArmReplay {
  private readonly agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connections: null });
  private readonly bodies: ChatBodies;
  private readonly known: KnownPrefixes;
  private readonly heads = new WeakMap<App, number>();
  private readonly run: ArmRun;
  private clock: ScaledClock;
  private limitMs: number;
  private calls = 0;
  private refills = 0;

  constructor(
    arm: string,
    /** Clients send their session id. */
    private readonly sendsSessionId: boolean,
    private readonly plan: ReplayPlan,
    private readonly target: Target,
    private readonly pace: Pace,
    private readonly watcher: Watcher,
  ) {
    this.bodies = new ChatBodies({
      model: PRESETS[plan.fleet.preset].model,
      bytesPerToken: BYTES_PER_TOKEN,
      synthetic: false,
    });
    this.known = new KnownPrefixes(plan.fleet.blockTokens, (session) => this.headTokens(session));
    this.clock = new ScaledClock(pace.speedup, pace.realMs);
    this.limitMs = plan.limitMs;
    this.run = {
      arm,
      endpoints: target.endpoints,
      records: [],
      finishedSessions: new Set(),
      unfinishedSessions: 0,
      measureFromMs: plan.warmupMs,
      endMs: 0,
    };
  }

  async play(signal: AbortSignal): Promise<ArmRun> {
    setMaxListeners(0, signal); // Every session of the arm listens to it.
    this.clock = new ScaledClock(this.pace.speedup, this.pace.realMs);
    const { patienceMs } = this.pace;
    const cut =
      patienceMs === undefined
        ? undefined
        : setTimeout(() => (this.limitMs = Math.min(this.limitMs, this.clock.nowMs())), patienceMs);
    const ticks = setInterval(
      () => this.watcher.tick(this.clock.nowMs(), this.target.inFlight()),
      TICK_REAL_MS,
    );
    try {
      await Promise.all(this.plan.arrivals.map((arrival) => this.slot(arrival, signal)));
    } finally {
      clearTimeout(cut);
      clearInterval(ticks);
      await this.agent.destroy();
    }
    this.run.endpoints = this.target.endpoints;
    this.run.endMs = Math.min(this.clock.nowMs(), this.limitMs);
    return this.run;
  }

  /** One session after another in a closed population, one alone in an open one. */
  private async slot(first: Arrival, signal: AbortSignal): Promise<void> {
    for (let arrival: Arrival | null = first; arrival !== null;) {
      const { session } = arrival;
      const issue = (call: Call, index: number): Promise<void> =>
        this.issue(session, call, index, signal);
      const whole = await runSession(arrival, this.clock, () => this.limitMs, issue, signal);
      if (whole) {
        this.run.finishedSessions.add(session.id);
        this.watcher.sessionFinished();
      } else if (arrival.firstCall === 0) this.run.unfinishedSessions++;
      arrival = this.plan.refill?.(this.refills++, this.clock.nowMs()) ?? null;
      if (arrival !== null && arrival.startMs >= this.limitMs) return;
    }
  }

  private async issue(
    session: Session,
    call: Call,
    index: number,
    signal: AbortSignal,
  ): Promise<void> {
    const id = String(this.calls++);
    const extra = `"mock_answer":${this.bodies.message(call.answer)}`;
    const headers: Record<string, string> = { [CALL_HEADER]: id };
    if (this.sendsSessionId) headers["x-session-id"] = session.id;
    const body = this.bodies.body(session, call, extra);
    const possible = this.known.find(session, call);
    const startedMs = this.clock.nowMs();
    const answer = await chat(this.agent, this.target.url, body, headers, () => this.clock.nowMs());
    signal.throwIfAborted();
    if (answer.error === null) {
      this.known.learn(session, call, answer.promptTokens, answer.outputTokens);
    }
    const record = this.recordOf(session, call, index, id, startedMs, possible, answer);
    this.run.records.push(record);
    this.watcher.ended(record);
  }

  private headTokens({ app }: Session): number {
    let tokens = this.heads.get(app);
    if (tokens === undefined) {
      const tools = app.tools.map((tool) => JSON.stringify(tool)).join("\n");
      tokens = countTokens(app.system) + countTokens(tools);
      this.heads.set(app, tokens);
    }
    return tokens;
  }

  private recordOf(
    session: Session,
    call: Call,
    index: number,
    id: string,
    startedMs: number,
    possible: number,
    answer: ChatAnswer,
  ): CallRecord {
    const { promptTokens, cachedTokens, outputTokens, firstTokenMs, endedMs, error } = answer;
    return {
      session: session.id,
      app: session.app.name,
      call: index,
      turn: call.turn,
      endpoint: this.target.endpointIndex(answer.endpoint),
      startedMs,
      firstTokenMs,
      endedMs,
      promptTokens,
      localTokens: cachedTokens,
      fetchedTokens: 0,
      possibleTokens: Math.min(possible, promptTokens),
      outputTokens,
      preemptions: 0,
      holdMs: 0,
      queueMs: 0,
      fetchMs: 0,
      ...this.target.take(id),
      gapMs: call.gapMs,
      gap: call.gap,
      error,
    };
  }
}
