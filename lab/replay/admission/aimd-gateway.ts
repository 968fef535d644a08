// SPDX-License-Identifier: Apache-2.0
// Admission as congestion control is usually done: a window per endpoint, additive increase, multiplicative decrease.
import type { Gateway, Passage, ReportedUsage, UNTOLD } from "../drivers/virtual/gateway.ts";

const START_TOKENS = 300_000;
const LEAST_TOKENS = 60_000;
/** After so many answers that could have lost something the window is judged. */
const SAMPLES = 16;
const MOST_LOSSES = 0.1;
const DECREASE = 0.8;
const INCREASE_TOKENS = 30_000;
/** Less of the last context cached than this is a loss; shorter contexts say nothing. */
const CACHED_SHARE = 0.85;
const LEAST_EXPECTED = 4_000;
/** A session that waits for a tool keeps its place this long. */
const RESIDENT_MS = 120_000;
const TICK_MS = 500;

interface Known {
  home: number;
  tokens: number;
  inFlight: number;
  endedMs: number;
  resident: boolean;
}

interface Window {
  tokens: number;
  resident: number;
  samples: number;
  losses: number;
  limited: boolean;
}

interface Held {
  passage: Passage;
  placed: () => void;
}

/**
 * Sessions stay where they are and wait, first come first served, until their context fits the window. A baseline:
 * it sees what the filter sees.
 */
export class AimdGateway implements Gateway {
  private readonly windows: Window[];
  private readonly sessions = new Map<string, Known>();
  private readonly expected = new Map<number, number>();
  private readonly held: Held[] = [];
  private tickedMs = 0;

  constructor(endpoints: number) {
    this.windows = Array.from({ length: endpoints }, () => ({
      tokens: START_TOKENS,
      ...{ resident: 0, samples: 0, losses: 0, limited: false },
    }));
  }

  place(passage: Passage, nowMs: number, placed: () => void): void {
    const known = this.sessions.get(passage.session.id);
    if (known?.resident) this.send(passage, known.home, placed);
    else {
      this.held.push({ passage, placed });
      this.release(nowMs);
    }
  }

  firstToken(): void {}

  ended(passage: Passage, usage: ReportedUsage | typeof UNTOLD | null, nowMs: number): void {
    const known = this.sessions.get(passage.session.id)!;
    known.inFlight--;
    known.endedMs = nowMs;
    if (usage !== null && usage !== "untold") {
      this.judge(passage, usage);
      this.count(known, false);
      known.tokens = usage.promptTokens + usage.outputTokens;
      this.count(known, true);
    }
    const stays = usage !== null && passage.call.answer.callsTool;
    if (!stays && known.inFlight === 0) this.count(known, false);
    this.expected.delete(passage.id);
    this.release(nowMs);
  }

  nextMs(): number {
    return this.held.length === 0 ? Infinity : this.tickedMs + TICK_MS;
  }

  advance(nowMs: number): void {
    if (nowMs < this.tickedMs + TICK_MS) return;
    this.tickedMs = nowMs;
    for (const known of this.sessions.values()) {
      const isLate = known.inFlight === 0 && nowMs > known.endedMs + RESIDENT_MS;
      if (isLate) this.count(known, false);
    }
    this.release(nowMs);
  }

  close(): void {}

  private release(nowMs: number): void {
    this.tickedMs = Math.max(this.tickedMs, nowMs - TICK_MS);
    for (let head = this.held[0]; head !== undefined; head = this.held[0]) {
      const { passage, placed } = head;
      const known = this.sessions.get(passage.session.id);
      const endpoint = known?.resident ? known.home : this.roomFor(passage, known?.home ?? -1);
      if (endpoint < 0) return;
      this.held.shift();
      this.send(passage, endpoint, placed);
    }
  }

  /** Home if the session fits there, else the emptiest endpoint that it fits, else -1. */
  private roomFor({ promptTokens }: Passage, home: number): number {
    let best = -1;
    let least = Infinity;
    for (const [endpoint, { resident, tokens }] of this.windows.entries()) {
      if (resident > 0 && resident + promptTokens > tokens) continue;
      const fill = endpoint === home ? -1 : resident / tokens;
      if (fill >= least) continue;
      least = fill;
      best = endpoint;
    }
    if (best < 0) for (const window of this.windows) window.limited = true;
    return best;
  }

  private send(passage: Passage, endpoint: number, placed: () => void): void {
    const id = passage.session.id;
    const known = this.sessions.get(id) ?? {
      ...{ home: -1, tokens: 0, inFlight: 0, endedMs: 0, resident: false },
    };
    this.sessions.set(id, known);
    if (known.home === endpoint) this.expected.set(passage.id, known.tokens);
    this.count(known, false);
    known.home = endpoint;
    known.tokens = passage.promptTokens;
    known.inFlight++;
    this.count(known, true);
    passage.endpoint = endpoint;
    placed();
  }

  private count(known: Known, resident: boolean): void {
    if (known.resident === resident || known.home < 0) return;
    known.resident = resident;
    this.windows[known.home]!.resident += resident ? known.tokens : -known.tokens;
  }

  private judge(passage: Passage, { cachedTokens }: ReportedUsage): void {
    const expected = Math.min(this.expected.get(passage.id) ?? 0, passage.promptTokens);
    if (expected < LEAST_EXPECTED) return;
    const window = this.windows[passage.endpoint]!;
    window.samples++;
    if (cachedTokens < CACHED_SHARE * expected) window.losses++;
    if (window.samples < SAMPLES) return;
    if (window.losses > MOST_LOSSES * SAMPLES) {
      window.tokens = Math.max(LEAST_TOKENS, DECREASE * window.tokens);
    } else if (window.limited) window.tokens += INCREASE_TOKENS;
    window.samples = window.losses = 0;
    window.limited = false;
  }
}
