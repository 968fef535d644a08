// SPDX-License-Identifier: Apache-2.0
// Runs engines on real time: `speedup` engine milliseconds pass in each millisecond of the wall clock.
import { type Engine } from "../engine/engine.ts";

/** Engine time of this process. GPUs that share a tier share the clock as well. */
export class WallClock {
  private readonly startMs = performance.now();

  constructor(readonly speedup = 1) {}

  /** Engine milliseconds since the clock was made. */
  nowMs(): number {
    return (performance.now() - this.startMs) * this.speedup;
  }

  /** Wall milliseconds from now until an engine time; 0 when it has passed. */
  wallDelayMs(engineMs: number): number {
    return Math.max(0, (engineMs - this.nowMs()) / this.speedup);
  }
}

/**
 * Advances one engine whenever something is due. Engine time stays exact however late a timer fires:
 * several steps may end in one call, each at its own engine time.
 */
export class EngineDriver {
  private timer: NodeJS.Timeout | null = null;
  private immediate: NodeJS.Immediate | null = null;
  private closed = false;

  /** `delivered` runs after each advance, outside the engine. */
  constructor(
    private readonly engine: Engine,
    readonly clock: WallClock,
    private readonly delivered: () => void,
  ) {}

  /** Catches up with the clock and answers the present, for a submit or an abort. */
  present(): number {
    const nowMs = this.clock.nowMs();
    this.engine.advance(nowMs);
    return nowMs;
  }

  /** Plans the next advance; call after every submit and abort. */
  arm(): void {
    this.disarm();
    const nextMs = this.engine.nextEventMs();
    if (this.closed || nextMs === Infinity) return;
    const delayMs = this.clock.wallDelayMs(nextMs);
    // What is due now waits for the rest of this turn of the event loop: arrivals share a step.
    if (delayMs === 0) this.immediate = setImmediate(() => this.run());
    else this.timer = setTimeout(() => this.run(), Math.ceil(delayMs));
  }

  close(): void {
    this.closed = true;
    this.disarm();
  }

  private run(): void {
    this.present();
    this.delivered();
    this.arm();
  }

  private disarm(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    if (this.immediate !== null) clearImmediate(this.immediate);
    this.timer = null;
    this.immediate = null;
  }
}
