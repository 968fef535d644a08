// SPDX-License-Identifier: Apache-2.0
// Real time that waits for this process: what the machine spends on others does not count.

/** Ticks keep the clock going while nobody asks for the time. */
const TICK_MS = 4;
/** A gap above this between two looks was not ours: a busy machine, a pause of the garbage collector. */
const LONGEST_STEP_MS = 12;

/**
 * Agents and GPUs that share this clock see a busy machine as a slower one and not as long latencies. Close it, or the
 * process does not end.
 */
export class PatientClock {
  private readonly timer: NodeJS.Timeout;
  private lastRealMs = performance.now();
  private elapsedMs = 0;
  private lostMs = 0;

  constructor() {
    this.timer = setInterval(() => this.nowMs(), TICK_MS);
  }

  /** Milliseconds since the clock was made, without the lost ones. */
  nowMs(): number {
    const realMs = performance.now();
    const stepMs = realMs - this.lastRealMs;
    this.lastRealMs = realMs;
    this.elapsedMs += Math.min(stepMs, LONGEST_STEP_MS);
    this.lostMs += Math.max(0, stepMs - LONGEST_STEP_MS);
    return this.elapsedMs;
  }

  /** Share of the real time that did not count, 0 on an idle machine. */
  get lostShare(): number {
    return this.lostMs / Math.max(1, this.lostMs + this.elapsedMs);
  }

  close(): void {
    clearInterval(this.timer);
  }
}
