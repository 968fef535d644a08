// SPDX-License-Identifier: Apache-2.0
// The closed loop of one session over real time: a call starts when those it waits for have ended, after its gap.
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../../workloads/session.ts";
import type { Arrival } from "../driver.ts";

/** Simulated time over a real clock. */
export class ScaledClock {
  private readonly startedAt: number;

  /**
   * @param speedup simulated milliseconds per real millisecond
   * @param realMs the real clock
   */
  constructor(
    readonly speedup: number,
    private readonly realMs: () => number,
  ) {
    this.startedAt = realMs();
  }

  nowMs(): number {
    return (this.realMs() - this.startedAt) * this.speedup;
  }

  /** Waits until a simulated moment. @throws AbortError when the signal fires */
  async until(momentMs: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      const realMs = (momentMs - this.nowMs()) / this.speedup;
      if (realMs <= 0) return;
      await sleep(Math.ceil(realMs), undefined, { signal });
    }
  }
}

/**
 * Runs the calls of one session from `arrival.firstCall` on.
 * @param limitMs the end, which may come nearer while the session runs
 * @param issue makes one call and settles when its answer has ended
 * @returns whether the whole session was replayed
 */
export async function runSession(
  arrival: Arrival,
  clock: ScaledClock,
  limitMs: () => number,
  issue: (call: Call, index: number) => Promise<void>,
  signal: AbortSignal,
): Promise<boolean> {
  const { calls } = arrival.session;
  const ended: Promise<boolean>[] = [];
  for (let index = arrival.firstCall; index < calls.length; index++) {
    const call = calls[index]!;
    ended[index] = (async () => {
      const before = await Promise.all(
        call.after.map((other) => ended[other] ?? Promise.resolve(true)),
      );
      if (before.includes(false)) return false;
      const gapMs = index === arrival.firstCall ? 0 : call.gapMs;
      const startMs = Math.max(arrival.startMs, clock.nowMs()) + gapMs;
      if (startMs > limitMs()) return false;
      await clock.until(startMs, signal);
      if (clock.nowMs() > limitMs()) return false;
      await issue(call, index);
      return true;
    })();
  }
  const whole = (await Promise.all(ended)).every((done) => done !== false);
  return whole && arrival.firstCall === 0;
}
