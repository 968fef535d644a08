// SPDX-License-Identifier: Apache-2.0
// Sessions from logs whose rows name, or let infer, the row that they continue.
import { KEY_SPACE, KEYS_PER_SESSION } from "./keys.ts";
import { chance, shuffled } from "./random.ts";
import {
  type App,
  append,
  type Call,
  type Item,
  type Role,
  type Session,
  type SessionSource,
} from "./session.ts";

/** A stretch of a prompt whose name tells it, and everything before it, from all others. */
export interface Piece {
  name: string | number;
  tokens: number;
  role: Role;
}

/** What a log tells of how a request was served. */
export interface Served {
  /** Address of the endpoint, null where the log does not tell; so for all others. */
  endpoint: string | null;
  cachedTokens: number | null;
  ttftMs: number | null;
  /** The filter told Envoy where to send it. */
  pinned: boolean;
}

/** One request of a log. */
export interface LinkedRow {
  /** When it began. */
  timeMs: number;
  /** Time to the end of its answer, null where the log does not tell. */
  durationMs: number | null;
  inputTokens: number;
  outputTokens: number;
  /** Index of the earlier row whose conversation this one continues, -1 for a new session. */
  parent: number;
  /** What the prompt of a new session begins with, so that sessions can share it; what is left over is its own. */
  opening: () => Piece[];
  /** Name of the whole prompt: twins have the same; null where nobody knows. */
  name: string | null;
  /** What is sent before the conversation, and its tokens: sessions of one app share it. */
  app: string;
  headTokens: number;
  served: Served;
}

/** Of formats that do not tell how a request was served. */
export const NOT_SERVED: Served = {
  endpoint: null,
  cachedTokens: null,
  ttftMs: null,
  pinned: false,
};

/** Reading, thinking and generating: what of the time between two rows was not a gap, where no row tells. */
const MS_PER_OUTPUT_TOKEN = 20;

/** Rows of one session in order of time, the first one new, the others below it. */
export type Tree = readonly number[];

export function treesOf(rows: readonly LinkedRow[]): Tree[] {
  const trees: number[][] = [];
  const treeOf = new Map<number, number[]>();
  rows.forEach((row, index) => {
    const tree = treeOf.get(row.parent) ?? [];
    if (tree.length === 0) trees.push(tree);
    tree.push(index);
    treeOf.set(index, tree);
  });
  return trees;
}

/** Time from the end of a row's answer, as far as it is known, to the start of one that continues it. */
function pauseMs(row: LinkedRow, before: LinkedRow): number {
  const takenMs = before.durationMs ?? before.outputTokens * MS_PER_OUTPUT_TOKEN;
  return row.timeMs - before.timeMs - takenMs;
}

/** Items that sessions share: a piece that was seen after the same item is the same item. */
class Trie {
  private readonly children = new Map<Item | null, Map<string | number, Item>>();

  child(parent: Item | null, name: string | number, make: () => Item): Item {
    const known = this.children.get(parent) ?? new Map<string | number, Item>();
    this.children.set(parent, known);
    let item = known.get(name);
    if (item === undefined) {
      item = make();
      known.set(name, item);
    }
    return item;
  }
}

/** Builds sessions out of a log's trees; copies of a session share with it what other sessions share with it too. */
export class SessionBuilder {
  private readonly trie = new Trie();
  private readonly apps = new Map<string, App>();
  private readonly users = new Map<string | number, number>();
  private nextKey = 0;
  private copy = 0;

  constructor(
    private readonly rows: readonly LinkedRow[],
    private readonly gapCapMs: number,
  ) {
    for (const row of rows) {
      if (row.parent >= 0) continue;
      for (const { name } of row.opening()) this.users.set(name, (this.users.get(name) ?? 0) + 1);
    }
  }

  /**
   * @param index unlike that of every other session: gives it keys of its own
   * @param copy sessions of one copy keep their relations; 0 is the log as it stands
   */
  build(tree: Tree, id: string, index: number, copy: number): Session {
    this.nextKey = KEY_SPACE.traceFile + index * KEYS_PER_SESSION;
    this.copy = copy;
    const calls: Call[] = [];
    const placeOf = new Map<number, number>();
    for (const row of tree) {
      const parent = placeOf.get(this.rows[row]!.parent);
      placeOf.set(row, calls.length);
      calls.push(this.callFor(this.rows[row]!, parent, calls));
    }
    return { id, app: this.appOf(this.rows[tree[0]!]!), calls };
  }

  private appOf({ app: name, headTokens }: LinkedRow): App {
    let app = this.apps.get(name);
    if (app === undefined) {
      app = { name, system: "", tools: [], headTokens };
      this.apps.set(name, app);
    }
    return app;
  }

  private callFor(row: LinkedRow, parent: number | undefined, calls: readonly Call[]): Call {
    const from = parent === undefined ? this.openingOf(row) : calls[parent]!.answer;
    const tip = this.endOf(row, from);
    const tokens = Math.max(1, row.outputTokens);
    const answer = append(tip, { role: "assistant", key: this.nextKey++, tokens });
    const common = { tip, turn: tip.runs + 1, answer };
    if (parent === undefined) return { ...common, gap: "start", gapMs: 0, after: [] };
    const before = this.rows[row.parent]!;
    const gapMs = Math.min(this.gapCapMs, Math.max(0, pauseMs(row, before)));
    return { ...common, gap: "think", gapMs, after: [parent] };
  }

  private openingOf(row: LinkedRow): Item | null {
    let tip: Item | null = null;
    const room = row.inputTokens - this.appOf(row).headTokens;
    for (const { name, tokens, role } of row.opening()) {
      if ((tip?.totalTokens ?? 0) + tokens >= room) break;
      const parent: Item | null = tip;
      tip = this.named(parent, name, () => append(parent, { role, key: this.nextKey++, tokens }));
    }
    return tip;
  }

  /** The last client item: what is left of the prompt. */
  private endOf(row: LinkedRow, from: Item | null): Item {
    const known = this.appOf(row).headTokens + (from?.totalTokens ?? 0);
    const tokens = Math.max(1, row.inputTokens - known);
    const make = (): Item => append(from, { role: "user", key: this.nextKey++, tokens });
    return row.name === null ? make() : this.named(from, row.name, make);
  }

  private named(parent: Item | null, name: string | number, make: () => Item): Item {
    const isShared = this.copy === 0 || (this.users.get(name) ?? 0) > 1;
    return this.trie.child(parent, isShared ? name : `${this.copy}/${name}`, make);
  }
}

/** Sessions of a log in random order; after the last one they come again with new texts. */
export function linkedSource(
  name: string,
  rows: readonly LinkedRow[],
  options: { seed: number; gapCapMs: number },
): SessionSource {
  const trees = shuffled(treesOf(rows), chance(options.seed, name));
  const builder = new SessionBuilder(rows, options.gapCapMs);
  const follow = rows.filter((row) => row.parent >= 0).length;
  return {
    name,
    notes: [`${name}: ${rows.length} requests in ${trees.length} sessions, ${follow} follow-ups`],
    at: (index) => {
      const copy = Math.floor(index / trees.length);
      return builder.build(trees[index % trees.length]!, `${name}-${index}`, index, copy);
    },
  };
}
