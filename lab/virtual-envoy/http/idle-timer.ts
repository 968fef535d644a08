// SPDX-License-Identifier: Apache-2.0
// stream_idle_timeout: one timer a stream that is set again only when it fires, so that activity costs a number.
import type { TimerHandle } from "../clock.ts";
import type { EventLoop } from "../event-loop.ts";

export class IdleTimer {
  private lastActiveUs: number;
  private timer: TimerHandle | undefined;

  /** @param timeoutMs 0 = never */
  constructor(
    private readonly loop: EventLoop,
    private readonly timeoutMs: number,
    private readonly expired: () => void,
  ) {
    this.lastActiveUs = loop.clock.nowUs;
    this.watch();
  }

  touch(): void {
    this.lastActiveUs = this.loop.clock.nowUs;
  }

  cancel(): void {
    this.timer?.cancel();
  }

  private watch(): void {
    if (this.timeoutMs === 0) return;
    const waitUs = this.lastActiveUs + this.timeoutMs * 1000 - this.loop.clock.nowUs;
    if (waitUs > 0) this.timer = this.loop.after(waitUs, () => this.watch());
    else this.expired();
  }
}
