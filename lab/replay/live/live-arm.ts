// SPDX-License-Identifier: Apache-2.0
// Follows one running arm and sums it up for the page and the progress lines.
import { mean, quantile } from "simple-statistics";
import type { Watcher } from "../drivers/driver.ts";
import { cachedTokensOf, type CallRecord } from "../measures/record.ts";
import type { ArmPoint, ArmState, ArmTotals } from "./state.ts";

/** Simulated time over which the curves are averaged. */
const WINDOW_MS = 30_000;

function share(
  records: readonly CallRecord[],
  part: (record: CallRecord) => number,
): number | null {
  let tokens = 0;
  let found = 0;
  for (const record of records) {
    tokens += record.promptTokens;
    found += part(record);
  }
  return tokens === 0 ? null : found / tokens;
}

function ttftSeconds(records: readonly CallRecord[], p: number): number | null {
  if (records.length === 0) return null;
  return quantile(
    records.map((record) => (record.firstTokenMs - record.startedMs) / 1000),
    p,
  );
}

/** A watcher that keeps what the page shows. */
export class LiveArm implements Watcher {
  readonly state: ArmState;
  private readonly records: CallRecord[] = [];
  private readonly loads: { atMs: number; inFlight: number[] }[] = [];
  private nowMs = 0;
  private errors = 0;
  private finished = 0;

  /** @param publish is told of every new point */
  constructor(
    name: string,
    private readonly endpoints: number,
    private readonly publish: (arm: ArmState, point: ArmPoint) => void,
  ) {
    this.state = { name, state: "running", points: [], totals: this.totals() };
  }

  tick(nowMs: number, inFlight: readonly number[]): void {
    this.nowMs = nowMs;
    this.loads.push({ atMs: nowMs, inFlight: [...inFlight] });
    while (this.loads[0]!.atMs <= nowMs - WINDOW_MS) this.loads.shift();
    const recent = this.records.filter((record) => record.endedMs > nowMs - WINDOW_MS);
    const point: ArmPoint = {
      t: nowMs / 1000,
      inFlight: inFlight.map((_, index) => mean(this.loads.map((load) => load.inFlight[index]!))),
      hitRate: share(recent, cachedTokensOf),
      hitPossible: share(recent, (record) => record.possibleTokens),
      ttftP50S: ttftSeconds(recent, 0.5),
    };
    this.state.points.push(point);
    this.state.totals = this.totals();
    this.publish(this.state, point);
  }

  ended(record: CallRecord): void {
    if (record.error === null) this.records.push(record);
    else this.errors++;
  }

  sessionFinished(): void {
    this.finished++;
  }

  done(): void {
    this.state.state = "done";
    this.tick(this.nowMs, new Array<number>(this.endpoints).fill(0));
  }

  private totals(): ArmTotals {
    const byEndpoint = Array.from({ length: this.endpoints }, (_, index) =>
      this.records.filter((record) => record.endpoint === index),
    );
    const tokens = (records: readonly CallRecord[]): number =>
      records.reduce((sum, record) => sum + record.promptTokens + record.outputTokens, 0);
    return {
      requests: this.records.length,
      errors: this.errors,
      hitRate: share(this.records, cachedTokensOf) ?? 0,
      hitPossible: share(this.records, (record) => record.possibleTokens) ?? 0,
      ttftP50S: ttftSeconds(this.records, 0.5) ?? 0,
      ttftP99S: ttftSeconds(this.records, 0.99) ?? 0,
      tokensPerS: this.nowMs === 0 ? 0 : tokens(this.records) / (this.nowMs / 1000),
      finishedSessions: this.finished,
      endpointHitRate: byEndpoint.map((records) => share(records, cachedTokensOf) ?? 0),
      endpointTokens: byEndpoint.map(tokens),
    };
  }
}
