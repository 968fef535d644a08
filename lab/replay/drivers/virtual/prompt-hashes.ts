// SPDX-License-Identifier: Apache-2.0
// Block hashes of conversations without their text: equal prefixes of items give equal leading blocks.
import { chainHash, hashSeed } from "../../../mock-gpu/engine/block-hash.ts";
import { type Call, type Item, type Session, sharedItem } from "../../workloads/session.ts";

const HIGH = 0x100000000;

/** What a session sent last, so that only new blocks are hashed. */
interface Previous {
  tip: Item;
  hashes: Float64Array;
}

/** Hashes for the calls of one session. */
export class PromptHashes {
  private previous: Previous | null = null;
  private readonly part = new Float64Array(3);

  constructor(
    private readonly session: Session,
    private readonly blockTokens: number,
  ) {}

  /** Chained hashes of all full blocks of a call's prompt and answer. */
  of(call: Call): Float64Array {
    const headTokens = this.session.app.headTokens;
    const total = headTokens + call.answer.totalTokens;
    const hashes = new Float64Array(Math.floor(total / this.blockTokens));
    const kept = this.keep(call.answer, hashes);
    this.fill(call.answer, hashes, kept);
    this.previous = { tip: call.answer, hashes };
    return hashes;
  }

  /** Copies the leading blocks that the previous call had as well. */
  private keep(tip: Item, hashes: Float64Array): number {
    if (this.previous === null) return 0;
    const shared = sharedItem(tip, this.previous.tip);
    const sharedTokens = this.session.app.headTokens + (shared?.totalTokens ?? 0);
    const blocks = Math.min(Math.floor(sharedTokens / this.blockTokens), hashes.length);
    hashes.set(this.previous.hashes.subarray(0, blocks));
    return blocks;
  }

  /** A block is named by the item that its last token lies in, the place in it, and everything before. */
  private fill(tip: Item, hashes: Float64Array, from: number): void {
    const headTokens = this.session.app.headTokens;
    const items = itemsBeyond(tip, from * this.blockTokens - headTokens);
    let parent = from === 0 ? hashSeed("", this.session.app.name) : hashes[from - 1]!;
    let index = 0;
    for (let block = from; block < hashes.length; block++) {
      const end = (block + 1) * this.blockTokens - headTokens;
      while (end > 0 && items[index]!.totalTokens < end) index++;
      const item = end > 0 ? items[index]! : null;
      parent = this.hashOf(parent, item, end);
      hashes[block] = parent;
    }
  }

  private hashOf(parent: number, item: Item | null, end: number): number {
    const key = item?.key ?? -1;
    this.part[0] = key | 0;
    this.part[1] = (key / HIGH) | 0;
    this.part[2] = item === null ? end : end - (item.totalTokens - item.tokens);
    return chainHash(parent, this.part, 0, 3);
  }
}

/** Items that reach beyond the first `tokens` tokens of a conversation, first to last. */
function itemsBeyond(tip: Item, tokens: number): Item[] {
  const items: Item[] = [];
  for (
    let item: Item | null = tip;
    item !== null && item.totalTokens > tokens;
    item = item.parent
  ) {
    items.push(item);
  }
  return items.reverse();
}
