// SPDX-License-Identifier: Apache-2.0
// Several gateways in front of one fleet: each call comes through one of them, and they tell each other nothing.
import type { Chance } from "../../workloads/random.ts";
import type { Gateway, Passage, ReportedUsage } from "./gateway.ts";

export class GatewayGroup implements Gateway {
  private readonly taken = new Map<number, Gateway>();

  constructor(
    private readonly gateways: readonly Gateway[],
    private readonly draws: Chance,
  ) {}

  place(passage: Passage, nowMs: number, placed: () => void): void {
    const gateway = this.gateways[this.draws.below(this.gateways.length)]!;
    this.taken.set(passage.id, gateway);
    gateway.place(passage, nowMs, placed);
  }

  firstToken(passage: Passage, nowMs: number): void {
    this.taken.get(passage.id)?.firstToken(passage, nowMs);
  }

  ended(passage: Passage, usage: ReportedUsage | null, nowMs: number): void {
    this.taken.get(passage.id)?.ended(passage, usage, nowMs);
    this.taken.delete(passage.id);
  }

  nextMs(): number {
    return Math.min(...this.gateways.map((gateway) => gateway.nextMs()));
  }

  advance(nowMs: number): void {
    for (const gateway of this.gateways) gateway.advance(nowMs);
  }

  close(): void {
    for (const gateway of this.gateways) gateway.close();
  }
}
