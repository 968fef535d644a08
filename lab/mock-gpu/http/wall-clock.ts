// SPDX-License-Identifier: Apache-2.0
// Runs engines on real time: `speedup` engine milliseconds pass in each millisecond of the wall clock.
import { type Simulation } from "../engine/cluster.ts";

/**
 * Advances a simulation whenever something is due. Engine time stays exact however late a timer fires:
 * several steps may end in one call, each at its own engine time.
 */
export class WallClock {
  private readonly startMs: number;
  private readonly listeners: (() => void)[] = [];
  private timer: NodeJS.Timeout | null = null;
  private immediate: NodeJS.Immediate | null = null;
  private closed = false;
  private undelivered = false;

  constructor(
    private readonly simulation: Simulation,
    readonly speedup = 1,
    /** Wall milliseconds; another one than the machine's where several parties share a slower clock. */
    private readonly wallMs: () => number = () => performance.now(),
  ) {
    this.startMs = wallMs();
  }

  /** Runs after each advance, outside the engines. */
  onAdvance(listener: () => void): void {
    this.listeners.push(listener);
  }

  /** Catches up and answers the present in engine milliseconds, for a submit or an abort. */
  present(): number {
    const nowMs = this.nowMs();
    if (this.simulation.nextEventMs() <= nowMs) this.undelivered = true;
    this.simulation.advance(nowMs);
    return nowMs;
  }

  /** Plans the next advance; call after every submit and abort. */
  arm(): void {
    this.disarm();
    const nextMs = this.undelivered ? 0 : this.simulation.nextEventMs();
    if (this.closed || nextMs === Infinity) return;
    const delayMs = (nextMs - this.nowMs()) / this.speedup;
    // What is due now waits for the rest of this turn of the event loop: arrivals share a step.
    if (delayMs <= 0) this.immediate = setImmediate(() => this.run());
    else this.timer = setTimeout(() => this.run(), Math.ceil(delayMs));
  }

  /** Stops for good. */
  close(): void {
    this.closed = true;
    this.disarm();
  }

  private nowMs(): number {
    return (this.wallMs() - this.startMs) * this.speedup;
  }

  private run(): void {
    this.present();
    this.undelivered = false;
    for (const listener of this.listeners) listener();
    this.arm();
  }

  private disarm(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.immediate !== null) clearImmediate(this.immediate);
    this.timer = null;
    this.immediate = null;
  }
}
