// SPDX-License-Identifier: Apache-2.0
// Turns of the event loop: what is posted runs after the current driver operation or timer, in order.
import { type VirtualClock, type TimerHandle } from "./clock.ts";

export class EventLoop {
  private readonly posted: (() => void)[] = [];
  private depth = 0;

  constructor(readonly clock: VirtualClock) {}

  /** Runs after the outermost `run` in progress. */
  post(task: () => void): void {
    this.posted.push(task);
    if (this.depth === 0) this.run(() => {});
  }

  /** One turn: `operation`, then everything posted by it. */
  run<T>(operation: () => T): T {
    this.depth += 1;
    try {
      return operation();
    } finally {
      if (this.depth === 1) this.drain();
      this.depth -= 1;
    }
  }

  after(delayUs: number, task: () => void): TimerHandle {
    return this.clock.after(delayUs, () => this.run(task));
  }

  private drain(): void {
    for (let task = this.posted.shift(); task !== undefined; task = this.posted.shift()) task();
  }
}
