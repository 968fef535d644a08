// SPDX-License-Identifier: Apache-2.0
// How often a VM ticks: rarely where no streams come, as in Envoy's main thread and in workers that nobody calls.
import { setTickPeriod } from "../host/streams";

/**
 * Without a stream for so long, nothing is left to hold, to count or to give. Long enough that calls of one agent
 * session a few seconds apart do not change the pace.
 */
const CALM_MS: u64 = 10_000;

/**
 * What a calm VM still looks after: seats of dead ones, endpoints that leave, its own heartbeat (memory/gauge-shares.ts
 * takes a VM for dead after three seconds). A tick that wakes a sleeping thread costs 0.2 ms (measured).
 */
const CALM_PERIOD_MS: u32 = 500;

/** One per plugin configuration and VM. */
@final
export class TickPace {
  private open: i32 = 0;
  private busyMs: u64 = 0;
  private hadStreams: bool = false;
  private isCalm: bool = false;

  /** @param periodMs between ticks while there are streams */
  constructor(private readonly periodMs: u32) {
    setTickPeriod(periodMs);
  }

  /** A stream begins. True where ticks were rare until now: what the last one noted may be old. */
  enter(): bool {
    this.open++;
    this.hadStreams = true;
    if (!this.isCalm) return false;
    this.isCalm = false;
    setTickPeriod(this.periodMs);
    return true;
  }

  /** A stream has ended. */
  leave(): void {
    this.open--;
  }

  /** With each tick. */
  judge(nowMs: u64): void {
    if (this.open > 0 || this.hadStreams || this.busyMs == 0) {
      this.hadStreams = false;
      this.busyMs = nowMs;
      return;
    }
    if (this.isCalm || nowMs < this.busyMs + CALM_MS) return;
    this.isCalm = true;
    setTickPeriod(max(this.periodMs, CALM_PERIOD_MS));
  }
}
