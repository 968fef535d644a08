// SPDX-License-Identifier: Apache-2.0
// A link of finite bandwidth that serves one transfer after the other.

/** First in, first out. Everybody who shares the link shares this object. */
export class BandwidthPipe {
  private freeAtMs = 0;
  private movedBytes = 0;

  /** `gbPerS`: 10^9 bytes a second; 0 = the link does not exist. `setupMs`: added to each transfer. */
  constructor(
    readonly gbPerS: number,
    readonly setupMs: number,
  ) {}

  get bytes(): number {
    return this.movedBytes;
  }

  /** How long a transfer that starts now waits for those before it. */
  backlogMs(nowMs: number): number {
    return Math.max(0, this.freeAtMs - nowMs);
  }

  /** When `bytes` asked for now would have arrived. */
  estimate(bytes: number, nowMs: number): number {
    if (this.gbPerS <= 0) return Infinity;
    return Math.max(nowMs, this.freeAtMs) + this.setupMs + bytes / (this.gbPerS * 1e6);
  }

  /** Takes the link; answers when the last byte has arrived. */
  reserve(bytes: number, nowMs: number): number {
    const doneMs = this.estimate(bytes, nowMs);
    // The setup is latency, not occupation: the next transfer may use the link meanwhile.
    this.freeAtMs = doneMs - this.setupMs;
    this.movedBytes += bytes;
    return doneMs;
  }
}
