// SPDX-License-Identifier: Apache-2.0
// Progress of a replay on stderr.
import type { Watcher } from "../../lab/replay/drivers/driver.ts";

const SAY_EVERY_MS = 5_000;

/** Says every few real seconds how far an arm is. */
export class ReplayProgress implements Watcher {
  private calls = 0;
  private saidAt = performance.now();

  constructor(
    private readonly arm: string,
    private readonly limitMs: number,
  ) {}

  tick(nowMs: number, inFlight: readonly number[]): void {
    if (performance.now() - this.saidAt < SAY_EVERY_MS) return;
    this.saidAt = performance.now();
    const share = Math.round((nowMs / this.limitMs) * 100);
    const busy = inFlight.reduce((sum, count) => sum + count, 0);
    process.stderr.write(
      `  ${this.arm}: ${share} % of the time, ${this.calls} calls, ${busy} in flight\n`,
    );
  }

  ended(): void {
    this.calls++;
  }

  sessionFinished(): void {}
}
