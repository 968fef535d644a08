// SPDX-License-Identifier: Apache-2.0
// The best any routing could do: one engine with an infinite prefix cache that has seen every call before.
import type { Call, Item, Session } from "../workloads/session.ts";

/**
 * Every conversation that any endpoint of an arm has served, in the tokens that the engines counted. What
 * lies between two counted points (a fork inside an old conversation) is interpolated.
 */
export class KnownPrefixes {
  private readonly tokensAt = new WeakMap<Item, number>();
  private readonly appsSeen = new Set<string>();

  /** @param headTokensOf tokens of an app's system text and tools as the engines count them */
  constructor(
    private readonly blockTokens: number,
    private readonly headTokensOf: (session: Session) => number,
  ) {}

  /** Prompt tokens of a call that are known when it arrives, in full blocks. */
  find(session: Session, call: Call): number {
    let item: Item | null = call.tip;
    while (item !== null && !this.tokensAt.has(item)) item = item.parent;
    const known = item !== null || this.appsSeen.has(session.app.name);
    this.appsSeen.add(session.app.name);
    if (!known) return 0;
    const tokens = item === null ? this.headTokensOf(session) : this.tokensAt.get(item)!;
    return Math.floor(tokens / this.blockTokens) * this.blockTokens;
  }

  /** Notes a served call with the tokens that the engine counted. */
  learn(session: Session, call: Call, promptTokens: number, outputTokens: number): void {
    this.tokensAt.set(call.answer, promptTokens + outputTokens);
    this.tokensAt.set(call.tip, promptTokens);
    const headTokens = this.headTokensOf(session);
    const scale = (promptTokens - headTokens) / Math.max(1, call.tip.totalTokens);
    let item = call.tip.parent;
    for (; item !== null && !this.tokensAt.has(item); item = item.parent) {
      this.tokensAt.set(item, headTokens + Math.floor(item.totalTokens * scale));
    }
  }
}
