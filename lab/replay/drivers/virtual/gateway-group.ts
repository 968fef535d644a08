// SPDX-License-Identifier: Apache-2.0
// Several gateways in front of one fleet that tell each other nothing: calls or sessions are spread over them.
import type { Gateway, Passage, ReportedUsage, UNTOLD } from "./gateway.ts";

export class GatewayGroup implements Gateway {
  private readonly taken = new Map<number, Gateway>();

  constructor(
    private readonly gateways: readonly Gateway[],
    /** Index of the gateway that a call comes through. */
    private readonly indexOf: (passage: Passage) => number,
  ) {}

  place(passage: Passage, nowMs: number, placed: () => void): void {
    const gateway = this.gateways[this.indexOf(passage)]!;
    this.taken.set(passage.id, gateway);
    gateway.place(passage, nowMs, placed);
  }

  firstToken(passage: Passage, nowMs: number): void {
    this.taken.get(passage.id)?.firstToken(passage, nowMs);
  }

  ended(passage: Passage, usage: ReportedUsage | typeof UNTOLD | null, nowMs: number): void {
    this.taken.get(passage.id)?.ended(passage, usage, nowMs);
    this.taken.delete(passage.id);
  }

  setAlive(endpoint: number, alive: boolean): void {
    for (const gateway of this.gateways) gateway.setAlive?.(endpoint, alive);
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
