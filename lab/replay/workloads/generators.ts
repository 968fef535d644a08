// SPDX-License-Identifier: Apache-2.0
// Made-up programs after published averages: tree search, function calling, chat.
import { KEY_SPACE, KEYS_PER_SESSION } from "./keys.ts";
import { type Chance, chance } from "./random.ts";
import {
  type App,
  append,
  type Call,
  type Item,
  type Session,
  type SessionSource,
} from "./session.ts";

export interface GeneratorOptions {
  seed: number;
  gapCapMs: number;
}

/** An application whose text nobody sees: these generators state tokens only. */
function appOf(name: string, headTokens: number): App {
  return { name, system: `You are the agent of ${name}.`, tools: [], headTokens };
}

/** Hands out calls of one session with fresh keys. */
class Growth {
  readonly calls: Call[] = [];

  constructor(
    private nextKey: number,
    readonly draws: Chance,
  ) {}

  /** Adds a client item and the call that it asks; answers the call's index. */
  ask(
    base: Item | null,
    client: { tokens: number; role: "user" | "tool" },
    answer: { tokens: number; callsTool: boolean },
    timing: Pick<Call, "after" | "gap" | "gapMs">,
  ): number {
    const tip = append(base, { ...whole(client), key: this.nextKey++ });
    const reply = append(tip, { role: "assistant", ...whole(answer), key: this.nextKey++ });
    this.calls.push({ tip, turn: tip.runs + 1, answer: reply, ...timing });
    return this.calls.length - 1;
  }

  /** Tokens around a mean, never none. */
  around(mean: number): number {
    return Math.max(1, this.draws.logNormal(mean * 0.8, 0.67));
  }
}

function whole<T extends { tokens: number }>(item: T): T {
  return { ...item, tokens: Math.max(1, Math.round(item.tokens)) };
}

/** Number of calls: geometric-like with the given mean, at most `most`. */
function callCount(draws: Chance, mean: number, most: number): number {
  return Math.min(most, 1 + Math.floor(draws.exponential(mean - 0.5)));
}

interface ChainShape {
  name: string;
  firstKey: number;
  apps: App[];
  meanCalls: number;
  mostCalls: number;
  /** Mean tokens of the first client item, of later ones, and of answers. */
  firstTokens: number;
  clientTokens: number;
  answerTokens: number;
  /** Median gap in seconds; tools answer faster than people. */
  gapS: number;
  callsTools: boolean;
}

const GAP_SIGMA = 0.9;

function chainSession(shape: ChainShape, index: number, options: GeneratorOptions): Session {
  const draws = chance(options.seed, `${shape.name}/${index}`);
  const growth = new Growth(shape.firstKey + index * KEYS_PER_SESSION, draws);
  const count = callCount(draws, shape.meanCalls, shape.mostCalls);
  const app = shape.apps[draws.below(shape.apps.length)]!;
  for (let i = 0; i < count; i++) {
    const first = i === 0;
    const tokens = growth.around(first ? shape.firstTokens : shape.clientTokens);
    const callsTool = shape.callsTools && i < count - 1;
    const gapMs = Math.min(options.gapCapMs, draws.logNormal(shape.gapS, GAP_SIGMA) * 1000);
    growth.ask(
      growth.calls.at(-1)?.answer ?? null,
      { tokens, role: shape.callsTools && !first ? "tool" : "user" },
      { tokens: growth.around(shape.answerTokens), callsTool },
      {
        after: first ? [] : [i - 1],
        gap: first ? "start" : shape.callsTools ? "tool" : "think",
        gapMs: first ? 0 : gapMs,
      },
    );
  }
  return { id: `${shape.name}-${index}`, app, calls: growth.calls };
}

function chainSource(shape: ChainShape, options: GeneratorOptions): SessionSource {
  return {
    name: shape.name,
    notes: [`${shape.name}: made up, ${shape.meanCalls} calls a session on average`],
    at: (index) => chainSession(shape, index, options),
  };
}

/** ShareGPT-like chat (Agentix): 6.66 calls a program, at most 80; 256 new prompt and 277 output tokens a call. */
export function sharegptSource(options: GeneratorOptions): SessionSource {
  const shape: ChainShape = {
    name: "sharegpt",
    firstKey: KEY_SPACE.sharegpt,
    apps: [appOf("sharegpt", 64)],
    meanCalls: 6.66,
    mostCalls: 80,
    firstTokens: 256,
    clientTokens: 256,
    answerTokens: 277,
    gapS: 30,
    callsTools: false,
  };
  return chainSource(shape, options);
}

/** BFCL-like function calling (Agentix): 10.75 calls a program, at most 70; 735 prompt and 34 output tokens. */
export function bfclSource(options: GeneratorOptions): SessionSource {
  const shape: ChainShape = {
    name: "bfcl",
    firstKey: KEY_SPACE.bfcl,
    apps: [appOf("bfcl-a", 220), appOf("bfcl-b", 260), appOf("bfcl-c", 240)],
    meanCalls: 10.75,
    mostCalls: 70,
    firstTokens: 45,
    clientTokens: 12,
    answerTokens: 34,
    gapS: 1.5,
    callsTools: true,
  };
  return chainSource(shape, options);
}

const LATS_ROUNDS = 15;
const LATS_LEAST_FANOUT = 3;
const LATS_MOST_FANOUT = 8;
/** Items of a conversation from which on the search starts again at the root. */
const DEEPEST_ITEM = 8;

/**
 * LATS-like tree search (Agentix): about 160 calls a program of 467 prompt and 73 output tokens. Each round
 * expands one node of the tree with three to eight parallel calls and judges every new child with another.
 */
function latsSession(index: number, app: App, options: GeneratorOptions): Session {
  const draws = chance(options.seed, `lats/${index}`);
  const growth = new Growth(KEY_SPACE.lats + index * KEYS_PER_SESSION, draws);
  let node: Item | null = null;
  let before: number[] = [];
  for (let round = 0; round < LATS_ROUNDS; round++) {
    const fanout = LATS_LEAST_FANOUT + draws.below(LATS_MOST_FANOUT - LATS_LEAST_FANOUT + 1);
    before = expand(growth, node, fanout, before);
    // The search goes on below one of the new children, or starts again at the root.
    const chosen = growth.calls[before[draws.below(before.length)]!]!;
    node = chosen.tip.depth > DEEPEST_ITEM ? null : chosen.answer;
  }
  return { id: `lats-${index}`, app, calls: growth.calls };
}

/** One round: the children in parallel, each judged as soon as it is there. @returns the judgements */
function expand(growth: Growth, node: Item | null, fanout: number, after: number[]): number[] {
  const gap = after.length === 0 ? "start" : "tool";
  const question = growth.around(node === null ? 90 : 40);
  return Array.from({ length: fanout }, () => {
    const child = growth.ask(
      node,
      { tokens: question, role: "user" },
      { tokens: growth.around(73), callsTool: false },
      { after, gap, gapMs: 0 },
    );
    return growth.ask(
      growth.calls[child]!.answer,
      { tokens: growth.around(25), role: "user" },
      { tokens: growth.around(73), callsTool: false },
      { after: [child], gap: "tool", gapMs: 0 },
    );
  });
}

export function latsSource(options: GeneratorOptions): SessionSource {
  const app = appOf("lats", 160);
  return {
    name: "lats",
    notes: ["lats: made up, tree search with 3 to 8 parallel calls a step"],
    at: (index) => latsSession(index, app, options),
  };
}

/** Sessions of several sources in turn. */
export function mixedSource(name: string, sources: readonly SessionSource[]): SessionSource {
  return {
    name,
    notes: sources.flatMap((source) => source.notes),
    at: (index) => sources[index % sources.length]!.at(Math.floor(index / sources.length)),
  };
}
