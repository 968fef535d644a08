// SPDX-License-Identifier: Apache-2.0
// What a proxy can know of its fleet: what it has sent and not seen finished, and who served which prefix.
import type { Passage } from "../drivers/virtual/gateway.ts";
import { type Item, sharedItem } from "../workloads/session.ts";

interface Sent {
  newTokens: number;
  waitsForFirstToken: boolean;
}

/** Load and prefixes per endpoint, as a policy reads them. Token counts are exact, as after tokenising. */
export class Knowledge {
  readonly inFlight: number[];
  /** Uncached prefill tokens sent, without a first token yet. */
  readonly pendingPrefill: number[];
  /** Per session and endpoint the last conversation served there. */
  private readonly held = new Map<string, Map<number, Item>>();
  private readonly appsHeld: Set<string>[];
  private readonly sent = new Map<number, Sent>();

  constructor(readonly endpoints: number) {
    this.inFlight = new Array<number>(endpoints).fill(0);
    this.pendingPrefill = new Array<number>(endpoints).fill(0);
    this.appsHeld = Array.from({ length: endpoints }, () => new Set<string>());
  }

  /** Prompt tokens that the endpoint has computed before, as far as the proxy knows. */
  hitTokens({ session, call }: Passage, endpoint: number): number {
    const tip = this.held.get(session.id)?.get(endpoint);
    const shared = tip === undefined ? null : sharedItem(tip, call.tip);
    if (shared === null && !this.appsHeld[endpoint]!.has(session.app.name)) return 0;
    return session.app.headTokens + (shared?.totalTokens ?? 0);
  }

  /** The endpoint with the longest prefix of this very session, -1 where none has any. */
  homeOf(passage: Passage): number {
    let best = -1;
    let most = passage.session.app.headTokens;
    for (const endpoint of this.held.get(passage.session.id)?.keys() ?? []) {
      const tokens = this.hitTokens(passage, endpoint);
      if (tokens <= most) continue;
      best = endpoint;
      most = tokens;
    }
    return best;
  }

  took(passage: Passage): void {
    const { endpoint } = passage;
    const newTokens = passage.promptTokens - this.hitTokens(passage, endpoint);
    this.inFlight[endpoint]!++;
    this.pendingPrefill[endpoint]! += newTokens;
    this.sent.set(passage.id, { newTokens, waitsForFirstToken: true });
  }

  firstToken(passage: Passage): void {
    const sent = this.sent.get(passage.id);
    if (!sent?.waitsForFirstToken) return;
    sent.waitsForFirstToken = false;
    this.pendingPrefill[passage.endpoint]! -= sent.newTokens;
  }

  ended(passage: Passage, served: boolean): void {
    this.firstToken(passage);
    this.sent.delete(passage.id);
    this.inFlight[passage.endpoint]!--;
    if (!served) return;
    const { session, call, endpoint } = passage;
    this.appsHeld[endpoint]!.add(session.app.name);
    const homes = this.held.get(session.id) ?? new Map<number, Item>();
    homes.set(endpoint, call.answer);
    this.held.set(session.id, homes);
    if (session.calls.at(-1) === call) this.held.delete(session.id);
  }
}
