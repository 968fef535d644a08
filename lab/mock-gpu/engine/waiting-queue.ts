// SPDX-License-Identifier: Apache-2.0
// Requests that wait for a place: in order of arrival, or of priority and then arrival.
import { type EngineRequest } from "./request.ts";

/**
 * One sorted list serves both orders: under FCFS every priority is 0, and a preempted request, which
 * arrived before everything that still waits, returns to the front by itself.
 */
export class WaitingQueue {
  private readonly requests: EngineRequest[] = [];

  get size(): number {
    return this.requests.length;
  }

  peek(): EngineRequest | undefined {
    return this.requests[0];
  }

  /** What decides the place may not change while the request waits. */
  add(request: EngineRequest): void {
    let low = 0;
    let high = this.requests.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (precedes(this.requests[middle] as EngineRequest, request)) low = middle + 1;
      else high = middle;
    }
    this.requests.splice(low, 0, request);
  }

  shift(): void {
    this.requests.shift();
  }

  remove(request: EngineRequest): void {
    const at = this.requests.indexOf(request);
    if (at >= 0) this.requests.splice(at, 1);
  }

  [Symbol.iterator](): Iterator<EngineRequest> {
    return this.requests[Symbol.iterator]();
  }
}

/** Requests whose KV has been fetched hold blocks already: they come first, as in vLLM. */
function precedes(a: EngineRequest, b: EngineRequest): boolean {
  const holds = a.blockCount > 0;
  return holds === b.blockCount > 0 ? before(a, b) : holds;
}

/** True when `a` is more urgent than `b`. */
export function before(a: EngineRequest, b: EngineRequest): boolean {
  return a.priority !== b.priority ? a.priority < b.priority : a.order < b.order;
}
