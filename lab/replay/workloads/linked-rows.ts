// SPDX-License-Identifier: Apache-2.0
// Sessions from logs whose rows name, or let infer, the row that they continue.
import { KEY_SPACE, KEYS_PER_SESSION } from "./keys.ts";
import { chance, shuffled } from "./random.ts";
import {
  type App,
  append,
  type Call,
  type Item,
  type Session,
  type SessionSource,
} from "./session.ts";

/** One request of a log. */
export interface LinkedRow {
  timeMs: number;
  inputTokens: number;
  outputTokens: number;
  /** Index of the earlier row whose conversation this one continues, -1 for a new session. */
  parent: number;
  /** Names of the first items of a new session, so that sessions can share a beginning; empty without any. */
  blocks: readonly number[];
  blockTokens: number;
}

/** Reading, thinking and generating: what of the time between two rows was not a gap. */
const MS_PER_OUTPUT_TOKEN = 20;

/** Rows of one session in order of time, the first one new, the others below it. */
type Tree = number[];

function treesOf(rows: readonly LinkedRow[]): Tree[] {
  const trees: Tree[] = [];
  const treeOf = new Map<number, Tree>();
  rows.forEach((row, index) => {
    const tree = treeOf.get(row.parent) ?? [];
    if (tree.length === 0) trees.push(tree);
    tree.push(index);
    treeOf.set(index, tree);
  });
  return trees;
}

/** Items that sessions of one round share: a block that was seen at the same place is the same item. */
class Trie {
  private readonly children = new Map<Item | null, Map<number, Item>>();

  child(parent: Item | null, block: number, make: () => Item): Item {
    const known = this.children.get(parent) ?? new Map<number, Item>();
    this.children.set(parent, known);
    let item = known.get(block);
    if (item === undefined) {
      item = make();
      known.set(block, item);
    }
    return item;
  }
}

class TreeBuilder {
  private readonly calls: Call[] = [];
  private readonly callOf = new Map<number, number>();

  constructor(
    private readonly rows: readonly LinkedRow[],
    private readonly trie: Trie,
    private nextKey: number,
    private readonly gapCapMs: number,
  ) {}

  build(tree: Tree): Call[] {
    for (const index of tree) {
      const row = this.rows[index]!;
      const parent = this.callOf.get(row.parent);
      this.callOf.set(index, this.calls.length);
      this.calls.push(this.callFor(row, parent));
    }
    return this.calls;
  }

  private callFor(row: LinkedRow, parent: number | undefined): Call {
    const tip = parent === undefined ? this.firstTip(row) : this.nextTip(row, this.calls[parent]!);
    const tokens = Math.max(1, row.outputTokens);
    const answer = append(tip, { role: "assistant", key: this.nextKey++, tokens });
    const common = { tip, turn: tip.runs + 1, answer };
    if (parent === undefined) return { ...common, gap: "start", gapMs: 0, after: [] };
    const before = this.rows[row.parent]!;
    const pauseMs = row.timeMs - before.timeMs - before.outputTokens * MS_PER_OUTPUT_TOKEN;
    const gapMs = Math.min(this.gapCapMs, Math.max(0, pauseMs));
    return { ...common, gap: "think", gapMs, after: [parent] };
  }

  private firstTip(row: LinkedRow): Item {
    let tip: Item | null = null;
    const full = Math.floor(row.inputTokens / row.blockTokens);
    for (const block of row.blocks.slice(0, full)) {
      const parent: Item | null = tip;
      tip = this.trie.child(parent, block, () =>
        append(parent, { role: "user", key: this.nextKey++, tokens: row.blockTokens }),
      );
    }
    const rest = Math.max(1, row.inputTokens - (tip?.totalTokens ?? 0));
    return append(tip, { role: "user", key: this.nextKey++, tokens: rest });
  }

  private nextTip(row: LinkedRow, parent: Call): Item {
    const tokens = Math.max(1, row.inputTokens - parent.answer.totalTokens);
    return append(parent.answer, { role: "user", key: this.nextKey++, tokens });
  }
}

/** Sessions of a log in random order; after the last one they come again with new texts. */
export function linkedSource(
  name: string,
  rows: readonly LinkedRow[],
  options: { seed: number; gapCapMs: number },
): SessionSource {
  const app: App = { name, system: "", tools: [], headTokens: 0 };
  const trees = shuffled(treesOf(rows), chance(options.seed, name));
  const tries: Trie[] = [];
  const follow = rows.filter((row) => row.parent >= 0).length;
  return {
    name,
    notes: [`${name}: ${rows.length} requests in ${trees.length} sessions, ${follow} follow-ups`],
    at: (index): Session => {
      const round = Math.floor(index / trees.length);
      const trie = (tries[round] ??= new Trie());
      const firstKey = KEY_SPACE.traceFile + index * KEYS_PER_SESSION;
      const builder = new TreeBuilder(rows, trie, firstKey, options.gapCapMs);
      return { id: `${name}-${index}`, app, calls: builder.build(trees[index % trees.length]!) };
    },
  };
}
