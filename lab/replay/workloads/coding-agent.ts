// SPDX-License-Identifier: Apache-2.0
// Coding-agent sessions: sizes, gaps and prefix relations of a real trace, with text made to fit.
import { readJsonLines, shippedTrace } from "./data-file.ts";
import { chance, shuffled } from "./random.ts";
import { type App, append, type Call, type Item, itemsOf, type Session } from "./session.ts";

/** `[t_s, in_tokens, out_tokens, api_s, think_s, stop, match_idx, match_blocks]`. */
type Row = [number, number, number, number, number, string, number, number];

/** One line of the trace file. */
export interface TraceSession {
  id: string;
  block: number;
  tool_tokens: number;
  system_tokens: number;
  reqs: Row[];
}

/** Sessions that begin above this were cut out of a longer one: their first request is no first turn. */
const GENUINE_FIRST_TOKENS = 40_000;
/** A prefix that shrinks below this share of the matched request is a new conversation (compaction). */
const BREAK_SHARE = 0.5;
/** Room for keys of one session's items. */
const KEYS_PER_SESSION = 1 << 20;

export interface CodingOptions {
  sessions: number;
  seed: number;
  starts: "genuine" | "resumed" | "all";
  /** Apps that the sessions belong to; each has its own system text and tools. */
  apps: readonly App[];
  /** Factor on all token counts: 1 is the trace as recorded. */
  tokenScale: number;
  /** Calls above this many (scaled) prompt tokens end the session. */
  contextCapTokens: number;
  /** Calls per session at most. */
  callCap: number;
  gapCapMs: number;
  /** Exponent p of the resampling weight (session tokens)^p; 0 takes each session once, in random order. */
  weightExponent: number;
}

/** Counts that a report prints beside the results. */
export interface TraceCounts {
  genuine: number;
  resumed: number;
}

export function readTrace(path = shippedTrace("coding-agent")): TraceSession[] {
  return readJsonLines<TraceSession>(path);
}

export function isGenuine(session: TraceSession): boolean {
  return (session.reqs[0]?.[1] ?? 0) <= GENUINE_FIRST_TOKENS;
}

export function countStarts(trace: readonly TraceSession[]): TraceCounts {
  const genuine = trace.filter(isGenuine).length;
  return { genuine, resumed: trace.length - genuine };
}

/** Turns one trace session into calls whose items share exactly the prefixes that the trace recorded. */
class SessionBuilder {
  private readonly calls: Call[] = [];
  private readonly scale: (tokens: number) => number;

  constructor(
    private readonly trace: TraceSession,
    private nextKey: number,
    private readonly options: CodingOptions,
  ) {
    this.scale = (tokens) => Math.max(1, Math.round(tokens * options.tokenScale));
  }

  build(): Call[] {
    const headTokens = this.trace.tool_tokens + this.trace.system_tokens;
    for (const row of this.trace.reqs) {
      if (this.calls.length >= this.options.callCap) break;
      if (this.scale(row[1]) > this.options.contextCapTokens) break;
      this.calls.push(this.callOf(row, headTokens));
    }
    return this.calls;
  }

  private callOf(row: Row, headTokens: number): Call {
    const [, inputTokens, outputTokens, , thinkS, stop, matchIndex, matchBlocks] = row;
    const last = this.calls.length - 1;
    const tip = this.tipOf(inputTokens, headTokens, matchIndex, matchBlocks * this.trace.block);
    const callsTool = stop === "tool_use";
    const answer = append(tip, {
      role: "assistant",
      key: this.nextKey++,
      tokens: this.scale(outputTokens),
      callsTool,
    });
    const previous = this.calls[last];
    return {
      tip,
      turn: tip.runs + 1,
      answer,
      gap: previous === undefined ? "start" : previous.answer.callsTool ? "tool" : "think",
      gapMs: previous === undefined ? 0 : Math.min(this.options.gapCapMs, thinkS * 1000),
      after: last < 0 ? [] : [last],
    };
  }

  private tipOf(
    inputTokens: number,
    headTokens: number,
    matched: number,
    matchTokens: number,
  ): Item {
    const bodyTokens = Math.max(1, this.scale(inputTokens) - this.scale(headTokens));
    const origin = this.calls[matched];
    const originTokens = this.trace.reqs[matched]?.[1] ?? 0;
    if (origin === undefined || matchTokens < originTokens * BREAK_SHARE) {
      return append(null, { role: "user", key: this.nextKey++, tokens: bodyTokens });
    }
    const intact = matchTokens + this.trace.block > originTokens;
    const kept = intact ? Infinity : this.scale(matchTokens) - this.scale(headTokens);
    const base = this.rewrite(origin.answer, kept, bodyTokens);
    const added = Math.max(1, bodyTokens - base.totalTokens);
    const role = base.callsTool ? "tool" : "user";
    return append(base, { role, key: this.nextKey++, tokens: added });
  }

  /** The same conversation with everything after `keptTokens` rewritten, so that it fits `roomTokens`. */
  private rewrite(tip: Item, keptTokens: number, roomTokens: number): Item {
    if (keptTokens === Infinity && tip.totalTokens < roomTokens) return tip;
    const items = itemsOf(tip);
    const firstFresh = items.findIndex((item) => item.totalTokens > keptTokens);
    if (firstFresh < 0) return tip;
    const before = items[firstFresh - 1]?.totalTokens ?? 0;
    const shrink = Math.min(1, Math.max(0, roomTokens - before) / (tip.totalTokens - before));
    let base: Item | null = items[firstFresh - 1] ?? null;
    for (const item of items.slice(firstFresh)) {
      const tokens = Math.max(1, Math.floor(item.tokens * shrink));
      base = append(base, {
        role: item.role,
        key: this.nextKey++,
        tokens,
        callsTool: item.callsTool,
      });
    }
    return base!;
  }
}

function sessionTokens(session: TraceSession): number {
  return session.reqs.reduce((sum, row) => sum + row[1], 0);
}

/** Draws sessions with weight (tokens)^p, with replacement. */
function resample(pool: readonly TraceSession[], options: CodingOptions): TraceSession[] {
  const draws = chance(options.seed, "coding-agent/resample");
  const cumulated: number[] = [];
  let total = 0;
  for (const session of pool) {
    total += sessionTokens(session) ** options.weightExponent;
    cumulated.push(total);
  }
  return Array.from({ length: options.sessions }, () => {
    const mark = draws.uniform() * total;
    const index = cumulated.findIndex((sum) => sum > mark);
    return pool[index < 0 ? pool.length - 1 : index]!;
  });
}

function selectSessions(trace: readonly TraceSession[], options: CodingOptions): TraceSession[] {
  const wanted = options.starts;
  const pool = trace.filter((s) => wanted === "all" || isGenuine(s) === (wanted === "genuine"));
  if (options.weightExponent !== 0) return resample(pool, options);
  const order = shuffled(pool, chance(options.seed, "coding-agent/order"));
  return Array.from({ length: options.sessions }, (_, index) => order[index % order.length]!);
}

/** Coding-agent sessions. The true turn is the depth in the chain of matches, 1 again where the prefix breaks. */
export function codingSessions(options: CodingOptions, trace = readTrace()): Session[] {
  const draws = chance(options.seed, "coding-agent/apps");
  return selectSessions(trace, options)
    .map((source, index) => {
      const app = options.apps[draws.below(options.apps.length)]!;
      const builder = new SessionBuilder(source, index * KEYS_PER_SESSION, options);
      return { id: `${source.id}-${index}`, app, calls: builder.build() };
    })
    .filter((session) => session.calls.length > 0);
}
