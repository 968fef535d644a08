// SPDX-License-Identifier: Apache-2.0
// What is replayed: sessions of calls, each call a conversation so far, with its truth beside it.

/** Who wrote an item. The model's own items are `assistant`; tool results and users are client items. */
export type Role = "user" | "assistant" | "tool";

/**
 * One message of a conversation, linked to the one before it, so that calls which share a prefix share its
 * items, whatever was edited or forked later.
 */
export interface Item {
  readonly role: Role;
  readonly parent: Item | null;
  /** Identity of the content: equal keys after equal parents mean equal text. */
  readonly key: number;
  /** Tokens of this item alone, as the workload states them. */
  readonly tokens: number;
  /** Tokens of all items up to and with this one, without the head. */
  readonly totalTokens: number;
  /** Items up to and with this one. */
  readonly depth: number;
  /** Maximal rows of assistant items up to and with this one. */
  readonly runs: number;
  /** An assistant item that calls a tool. */
  readonly callsTool: boolean;
  /** The message as JSON where the workload has real text; synthesised from `key` where it has not. */
  readonly json?: string;
}

/** What `append` needs to know of a new item. */
export interface NewItem {
  role: Role;
  key: number;
  tokens: number;
  callsTool?: boolean;
  json?: string;
}

/** An application: what every session of it sends first. */
export interface App {
  readonly name: string;
  readonly system: string;
  readonly tools: readonly unknown[];
  /** Tokens of system text and tools, as the workload states them. */
  readonly headTokens: number;
}

/** One request of a session. */
export interface Call {
  /** The last client item: the request carries everything up to and with it. */
  readonly tip: Item;
  /** True turn: 1 + runs before the tip. */
  readonly turn: number;
  /** What the model answers; the next call's history holds exactly this. */
  readonly answer: Item;
  /** Think or tool time in milliseconds between the end of the calls it waits for and this one. */
  readonly gapMs: number;
  /** What the gap before it was: the user thinking, a tool running, or nothing (first call). */
  readonly gap: "start" | "tool" | "think";
  /** Indexes of the calls that must have finished first. */
  readonly after: readonly number[];
}

/** A whole agent run: its calls, in an order in which each comes after those it waits for. */
export interface Session {
  readonly id: string;
  readonly app: App;
  readonly calls: readonly Call[];
}

/** An endless row of sessions: the same index always gives an equal session. */
export interface SessionSource {
  readonly name: string;
  /** Facts to print: counts of genuine and resumed starts, scale, and so on. */
  readonly notes: readonly string[];
  at(index: number): Session;
}

/** The first `count` sessions of a source. */
export function takeSessions(source: SessionSource, count: number): Session[] {
  return Array.from({ length: count }, (_, index) => source.at(index));
}

/** Appends one item. `parent` null begins a conversation. */
export function append(parent: Item | null, item: NewItem): Item {
  const opensRun = item.role === "assistant" && parent?.role !== "assistant";
  return {
    role: item.role,
    parent,
    key: item.key,
    tokens: item.tokens,
    totalTokens: (parent?.totalTokens ?? 0) + item.tokens,
    depth: (parent?.depth ?? 0) + 1,
    runs: (parent?.runs ?? 0) + (opensRun ? 1 : 0),
    callsTool: item.callsTool ?? false,
    json: item.json,
  };
}

/** All items up to and with `tip`, first to last. */
export function itemsOf(tip: Item): Item[] {
  const items = new Array<Item>(tip.depth);
  for (let item: Item | null = tip; item !== null; item = item.parent) items[item.depth - 1] = item;
  return items;
}

/** Tokens of a call's prompt as the workload states them. */
export function promptTokensOf(session: Session, call: Call): number {
  return session.app.headTokens + call.tip.totalTokens;
}

/** The last item that both conversations share, null when they differ from the first one on. */
export function sharedItem(a: Item, b: Item): Item | null {
  let left: Item | null = a;
  let right: Item | null = b;
  while (left !== right) {
    const deeper: number = (left?.depth ?? 0) - (right?.depth ?? 0);
    if (deeper >= 0) left = left?.parent ?? null;
    if (deeper <= 0) right = right?.parent ?? null;
  }
  return left;
}
