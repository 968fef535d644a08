// SPDX-License-Identifier: Apache-2.0
// Virtual time: a clock that only moves when it is told to, and the timers that hang on it.

/** An arbitrary but fixed start: 2024-01-01T00:00:00Z, in microseconds since the epoch. */
const DEFAULT_START_US = 1_704_067_200_000_000;

/** Cancelled timers stay in the heap until they are due or outnumber the live ones. */
const MIN_CANCELLED_TO_SWEEP = 1024;

interface Timer {
  atUs: number;
  /** Orders timers of the same instant by when they were set. */
  order: number;
  run: (() => void) | null;
}

export interface TimerHandle {
  cancel(): void;
}

function before(a: Timer, b: Timer): boolean {
  return a.atUs < b.atUs || (a.atUs === b.atUs && a.order < b.order);
}

/** Microsecond clock (Envoy's own granularity) with a binary heap of timers. */
export class VirtualClock {
  private heap: Timer[] = [];
  private setCount = 0;
  private cancelled = 0;

  constructor(private currentUs: number = DEFAULT_START_US) {}

  get nowUs(): number {
    return this.currentUs;
  }

  get nowMs(): number {
    return this.currentUs / 1000;
  }

  /** When the next timer is due, in microseconds, or undefined when none is set. */
  get nextTimerUs(): number | undefined {
    this.dropCancelled();
    return this.heap[0]?.atUs;
  }

  /** Runs `run` once, `delayUs` from now, when the clock is moved past that instant. */
  after(delayUs: number, run: () => void): TimerHandle {
    const timer: Timer = { atUs: this.currentUs + Math.max(0, delayUs), order: this.setCount, run };
    this.setCount += 1;
    this.push(timer);
    return { cancel: () => this.cancel(timer) };
  }

  /** Moves to `targetUs`, running every timer that falls due on the way, in order of time. */
  advanceTo(targetUs: number): void {
    for (;;) {
      this.dropCancelled();
      const next = this.heap[0];
      if (next === undefined || next.atUs > targetUs) break;
      this.pop();
      this.currentUs = Math.max(this.currentUs, next.atUs);
      const { run } = next;
      next.run = null; // Cancelling a timer that has fired changes nothing.
      run?.();
    }
    this.currentUs = Math.max(this.currentUs, targetUs);
  }

  private cancel(timer: Timer): void {
    if (timer.run === null) return;
    timer.run = null;
    this.cancelled += 1;
    if (this.cancelled < MIN_CANCELLED_TO_SWEEP || this.cancelled * 2 < this.heap.length) return;
    const kept = this.heap.filter((other) => other.run !== null);
    this.heap = [];
    this.cancelled = 0;
    for (const other of kept) this.push(other);
  }

  private dropCancelled(): void {
    while (this.heap.length > 0 && this.heap[0]!.run === null) {
      this.pop();
      this.cancelled -= 1;
    }
  }

  private push(timer: Timer): void {
    const heap = this.heap;
    let index = heap.length;
    heap.push(timer);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(timer, heap[parent]!)) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = timer;
  }

  private pop(): void {
    const heap = this.heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1]!, heap[child]!)) child += 1;
      if (!before(heap[child]!, last)) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = last;
  }
}
