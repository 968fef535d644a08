// SPDX-License-Identifier: Apache-2.0
// Measures which part of a replay's real time is spent in the gateway: bodies, filter, picks.
import type { Gateway, Passage, ReportedUsage, UNTOLD } from "./gateway.ts";

export class GatewayStopwatch implements Gateway {
  private spentMs = 0;

  constructor(private readonly inner: Gateway) {}

  place(passage: Passage, nowMs: number, placed: () => void): void {
    // What happens in `placed` is the engine's time, not the gateway's.
    let elsewhereMs = 0;
    this.measured(() =>
      this.inner.place(passage, nowMs, () => {
        const startedAt = performance.now();
        placed();
        elsewhereMs += performance.now() - startedAt;
      }),
    );
    this.spentMs -= elsewhereMs;
  }

  firstToken(passage: Passage, nowMs: number): void {
    this.measured(() => this.inner.firstToken(passage, nowMs));
  }

  ended(passage: Passage, usage: ReportedUsage | typeof UNTOLD | null, nowMs: number): void {
    this.measured(() => this.inner.ended(passage, usage, nowMs));
  }

  setAlive(endpoint: number, alive: boolean): void {
    this.inner.setAlive?.(endpoint, alive);
  }

  nextMs(): number {
    return this.inner.nextMs();
  }

  advance(nowMs: number): void {
    this.measured(() => this.inner.advance(nowMs));
  }

  close(): void {
    this.inner.close();
  }

  /** One line about a run of `events` events that took `totalMs`. */
  report(events: number, totalMs: number): string {
    const rate = Math.round(events / (totalMs / 1000)).toLocaleString("en-US");
    const share = Math.round((this.spentMs / totalMs) * 100);
    return `, ${rate} events/s, ${share} % of the time in the gateway, the rest in engines and agents`;
  }

  private measured(work: () => void): void {
    const startedAt = performance.now();
    work();
    this.spentMs += performance.now() - startedAt;
  }
}
