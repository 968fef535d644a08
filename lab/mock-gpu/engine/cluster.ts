// SPDX-License-Identifier: Apache-2.0
// Many engines on one clock: their events happen in the order of time, whoever they belong to.
import { type Engine } from "./engine.ts";
import { type EngineRequest, type RequestInit } from "./request.ts";

/** Something that moves on its own once it is told how far. */
export interface Simulation {
  /** When something happens next; Infinity while idle. */
  nextEventMs(): number;
  /** Lets everything happen that is due up to and including `toMs`. */
  advance(toMs: number): void;
}

/**
 * Needed as soon as engines share a tier or a link, and the convenient form for a replay. Submit and
 * abort through the cluster, so that it knows whose next event has changed; sinks may do so too.
 */
export class Cluster implements Simulation {
  private readonly nextMs: Float64Array;

  constructor(readonly engines: readonly Engine[]) {
    this.nextMs = new Float64Array(engines.length).fill(Infinity);
  }

  submit(index: number, init: RequestInit, nowMs: number): EngineRequest {
    const request = this.engine(index).submit(init, nowMs);
    this.refresh(index);
    return request;
  }

  abort(index: number, request: EngineRequest, nowMs: number): void {
    this.engine(index).abort(request, nowMs);
    this.refresh(index);
  }

  releaseHeld(index: number, request: EngineRequest, nowMs: number): void {
    this.engine(index).releaseHeld(request, nowMs);
    this.refresh(index);
  }

  resizeCache(index: number, kvTokens: number, nowMs: number): void {
    this.engine(index).resizeCache(kvTokens, nowMs);
    this.refresh(index);
  }

  engine(index: number): Engine {
    const engine = this.engines[index];
    if (engine === undefined) throw new RangeError(`There is no engine ${index}.`);
    return engine;
  }

  nextEventMs(): number {
    return this.nextMs[this.earliest()] ?? Infinity;
  }

  advance(toMs: number): void {
    for (;;) {
      const index = this.earliest();
      const eventMs = this.nextMs[index] ?? Infinity;
      if (eventMs > toMs) return;
      this.engine(index).advance(eventMs);
      this.refresh(index);
    }
  }

  private refresh(index: number): void {
    this.nextMs[index] = this.engine(index).nextEventMs();
  }

  /** A scan: for a hundred engines it costs less than the step that it finds. Ties go to the lower index. */
  private earliest(): number {
    const times = this.nextMs;
    let best = 0;
    for (let i = 1; i < times.length; i++) {
      if ((times[i] as number) < (times[best] as number)) best = i;
    }
    return best;
  }
}
