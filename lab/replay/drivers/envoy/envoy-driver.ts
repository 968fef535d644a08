// SPDX-License-Identifier: Apache-2.0
// Replays a plan through a real Envoy in front of mock GPUs, in scaled real time.
import { setMaxListeners } from "node:events";
import { Agent } from "undici";
import { type RunningEnvoy, startEnvoy } from "../../../../envoy/launcher.ts";
import { PRESETS } from "../../../mock-gpu/engine/step-cost.ts";
import { countTokens } from "../../../mock-gpu/http/tokenizer.ts";
import { ChatBodies } from "../../bodies/chat-body.ts";
import { KnownPrefixes } from "../../measures/known-prefixes.ts";
import type { ArmRun, CallRecord } from "../../measures/record.ts";
import type { App, Call, Session } from "../../workloads/session.ts";
import type { Arrival, Driver, ReplayPlan, Watcher } from "../driver.ts";
import { type EnvoyArm, envoyArm } from "./arms.ts";
import { chat, type ChatAnswer } from "./chat-client.ts";
import { CALL_HEADER, MockFleet } from "./mock-fleet.ts";
import { runSession, ScaledClock } from "./session-loop.ts";

const TICK_REAL_MS = 500;
const BYTES_PER_TOKEN = 4;

export interface EnvoyDriverOptions {
  /** Simulated milliseconds per real one. */
  speedup: number;
}

export class EnvoyDriver implements Driver {
  readonly name = "envoy";

  constructor(private readonly options: EnvoyDriverOptions) {}

  async run(arm: string, plan: ReplayPlan, watcher: Watcher, signal: AbortSignal): Promise<ArmRun> {
    const kind = envoyArm(arm);
    const fleet = await MockFleet.start(plan.fleet, this.options.speedup);
    let envoy: RunningEnvoy | null = null;
    try {
      const { bootstrap, balancing, configuration } = kind;
      const endpoints = fleet.addresses;
      envoy = await startEnvoy({ bootstrap, balancing, configuration, endpoints });
      const run = new ArmReplay(arm, kind, plan, fleet, envoy.url, this.options.speedup, watcher);
      return await run.play(signal);
    } finally {
      await envoy?.stop();
      await fleet.close();
    }
  }
}

/** One arm under way. */
class ArmReplay {
  private readonly agent = new Agent({ headersTimeout: 0, bodyTimeout: 0, connections: null });
  private readonly bodies: ChatBodies;
  private readonly known: KnownPrefixes;
  private readonly addresses: string[];
  private readonly heads = new WeakMap<App, number>();
  private readonly run: ArmRun;
  private clock: ScaledClock;
  private calls = 0;
  private refills = 0;

  constructor(
    arm: string,
    private readonly kind: EnvoyArm,
    private readonly plan: ReplayPlan,
    private readonly fleet: MockFleet,
    private readonly url: string,
    private readonly speedup: number,
    private readonly watcher: Watcher,
  ) {
    this.bodies = new ChatBodies({
      model: PRESETS[plan.fleet.preset].model,
      bytesPerToken: BYTES_PER_TOKEN,
      synthetic: false,
    });
    this.known = new KnownPrefixes(plan.fleet.blockTokens, (session) => this.headTokens(session));
    this.addresses = fleet.addresses;
    this.clock = new ScaledClock(speedup);
    this.run = {
      arm,
      endpoints: this.addresses.length,
      records: [],
      finishedSessions: new Set(),
      unfinishedSessions: 0,
      measureFromMs: plan.warmupMs,
      endMs: 0,
    };
  }

  async play(signal: AbortSignal): Promise<ArmRun> {
    setMaxListeners(0, signal); // Every session of the arm listens to it.
    this.clock = new ScaledClock(this.speedup);
    const ticks = setInterval(
      () => this.watcher.tick(this.clock.nowMs(), this.fleet.inFlight()),
      TICK_REAL_MS,
    );
    try {
      await Promise.all(this.plan.arrivals.map((arrival) => this.slot(arrival, signal)));
    } finally {
      clearInterval(ticks);
      await this.agent.destroy();
    }
    this.run.endMs = Math.min(this.clock.nowMs(), this.plan.limitMs);
    return this.run;
  }

  /** One session after another in a closed population, one alone in an open one. */
  private async slot(first: Arrival, signal: AbortSignal): Promise<void> {
    for (let arrival: Arrival | null = first; arrival !== null;) {
      const { session } = arrival;
      const issue = (call: Call, index: number): Promise<void> =>
        this.issue(session, call, index, signal);
      const whole = await runSession(arrival, this.clock, this.plan.limitMs, issue, signal);
      const over = this.clock.nowMs() >= this.plan.limitMs;
      if (whole) {
        this.run.finishedSessions.add(session.id);
        this.watcher.sessionFinished();
      } else if (arrival.firstCall === 0) this.run.unfinishedSessions++;
      arrival =
        over || this.plan.refill === null
          ? null
          : this.plan.refill(this.refills++, this.clock.nowMs());
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
    if (this.kind.sendsSessionId) headers["x-session-id"] = session.id;
    const body = this.bodies.body(session, call, extra);
    const possible = this.known.find(session, call);
    const startedMs = this.clock.nowMs();
    const answer = await chat(this.agent, this.url, body, headers, () => this.clock.nowMs());
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
      endpoint: this.addresses.indexOf(answer.endpoint ?? ""),
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
      ...this.fleet.take(id),
      gapMs: call.gapMs,
      gap: call.gap,
      error,
    };
  }
}
