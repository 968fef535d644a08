// SPDX-License-Identifier: Apache-2.0
// Coding-agent sessions: sizes, gaps and prefix relations of a real trace, with text made to fit.
import { Failure } from "../../../cli/failure.ts";
import { readJsonLines, shippedTrace } from "./data-file.ts";
import { KEY_SPACE, KEYS_PER_SESSION } from "./keys.ts";
import { chance, shuffled } from "./random.ts";
import { type App, append, type Call, type Item, itemsOf, type SessionSource } from "./session.ts";

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

export interface CodingOptions {
  seed: number;
  starts: "genuine" | "resumed" | "all";
  /** Apps that the sessions belong to, the first one most often; each has its own system text and tools. */
  apps: readonly App[];
  /** Every session has a head of its own, as where system texts name the user, the folder and the date. */
  ownHeads?: boolean;
  /** Factor on all token counts: 1 is the trace as recorded. */
  tokenScale: number;
  /** Calls above this many (scaled) prompt tokens end the session. */
  contextCapTokens: number;
  /** Longest answer in (scaled) tokens; longer ones are cut. */
  answerCapTokens?: number;
  /** Calls per session at most. */
  callCap: number;
  gapCapMs: number;
  /** Exponent p of the resampling weight (session tokens)^p; 0 takes each session once, in random order. */
  weightExponent: number;
  /** Every second session only: one half to tune on, the other to report. */
  half?: "even" | "odd";
}

/** Counts that a report prints beside the results. */
export interface TraceCounts {
  genuine: number;
  resumed: number;
}

function readTrace(path = shippedTrace("coding-agent")): TraceSession[] {
  return readJsonLines<TraceSession>(path);
}

function isGenuine(session: TraceSession): boolean {
  return (session.reqs[0]?.[1] ?? 0) <= GENUINE_FIRST_TOKENS;
}

function countStarts(trace: readonly TraceSession[]): TraceCounts {
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
      tokens: Math.min(this.scale(outputTokens), this.options.answerCapTokens ?? Infinity),
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

/** Tokens of the calls that the caps leave of a session. */
function keptTokens(session: TraceSession, options: CodingOptions): number {
  let tokens = 0;
  for (const row of session.reqs.slice(0, options.callCap)) {
    if (row[1] * options.tokenScale > options.contextCapTokens) break;
    tokens += row[1];
  }
  return tokens;
}

function poolOf(trace: readonly TraceSession[], options: CodingOptions): TraceSession[] {
  const { starts, half } = options;
  return trace
    .filter((session) => starts === "all" || isGenuine(session) === (starts === "genuine"))
    .filter((_, index) => half === undefined || index % 2 === (half === "even" ? 0 : 1))
    .filter((session) => keptTokens(session, options) > 0);
}

/** Draws sessions of a pool with weight (tokens)^p, with replacement. */
class Resampler {
  private readonly cumulated: number[] = [];

  constructor(
    private readonly pool: readonly TraceSession[],
    options: CodingOptions,
  ) {
    let total = 0;
    for (const session of pool) {
      total += keptTokens(session, options) ** options.weightExponent;
      this.cumulated.push(total);
    }
  }

  at(share: number): TraceSession {
    const mark = share * this.cumulated.at(-1);
    const index = this.cumulated.findIndex((sum) => sum > mark);
    return this.pool[index < 0 ? this.pool.length - 1 : index]!;
  }
}

/** Apps are as unequal as words: the k-th has 1/k of the first one's sessions. */
function appAt(apps: readonly App[], share: number): App {
  const total = apps.reduce((sum, _, index) => sum + 1 / (index + 1), 0);
  let mark = share * total;
  return apps.find((_, index) => (mark -= 1 / (index + 1)) < 0) ?? apps[0]!;
}

/** The same application with a text that no other session has. */
function ownApp(app: App, index: number): App {
  return { ...app, name: `${app.name}-${index}`, system: `Session ${index}. ${app.system}` };
}

/**
 * Coding-agent sessions. The true turn is the depth in the chain of matches, 1 again where the prefix breaks.
 * @throws Failure when nothing of the trace is left
 */
export function codingSource(options: CodingOptions, trace = readTrace()): SessionSource {
  const pool = poolOf(trace, options);
  if (pool.length === 0) throw new Failure("no session of the trace fits the context cap");
  const order = shuffled(pool, chance(options.seed, "coding-agent/order"));
  const resampler = options.weightExponent === 0 ? null : new Resampler(pool, options);
  const { genuine, resumed } = countStarts(trace);
  return {
    name: "coding-agent",
    notes: [
      `coding-agent trace: ${genuine} genuine and ${resumed} resumed starts; ${pool.length} sessions (${options.starts}) are used`,
    ],
    at: (index) => {
      const draws = chance(options.seed, `coding-agent/${index}`);
      const source = resampler?.at(draws.uniform()) ?? order[index % order.length]!;
      const shared = appAt(options.apps, draws.uniform());
      const app = options.ownHeads === true ? ownApp(shared, index) : shared;
      const builder = new SessionBuilder(
        source,
        KEY_SPACE.codingAgent + index * KEYS_PER_SESSION,
        options,
      );
      return { id: `${source.id}-${index}`, app, calls: builder.build() };
    },
  };
}
