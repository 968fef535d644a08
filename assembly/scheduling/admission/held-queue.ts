// SPDX-License-Identifier: Apache-2.0
// Requests that wait for room: one ordered line per tenant, the lines taken in turn.
import { AdmissionCall } from "./admission-call";

export enum HoldOrder {
  /** By arrival: most throughput. */
  Fifo = 0,
  /** By the birth of the session: best job times, longest single waits. */
  OldestSession = 1,
}

/** Tenants beyond this many share lines. */
const LINES: i32 = 16;

export class HeldQueue {
  count: i32 = 0;
  private readonly heads: StaticArray<AdmissionCall | null> = new StaticArray<AdmissionCall | null>(
    LINES,
  );
  private readonly tails: StaticArray<AdmissionCall | null> = new StaticArray<AdmissionCall | null>(
    LINES,
  );
  /** Line whose turn it is. */
  private turn: i32 = 0;

  constructor(private readonly order: HoldOrder) {}

  /** Lines up a call. Walks from the tail, so that arrivals in order cost nothing. */
  push(call: AdmissionCall): void {
    const line = lineOf(call);
    let before = this.tails[line];
    while (before != null && this.isLater(before, call)) before = before.previous;
    const after = before == null ? this.heads[line] : before.next;
    call.previous = before;
    call.next = after;
    if (before == null) this.heads[line] = call;
    else before.next = call;
    if (after == null) this.tails[line] = call;
    else after.previous = call;
    call.isHeld = true;
    this.count++;
  }

  /** Takes a call out of its line; does nothing where it is in none. */
  remove(call: AdmissionCall): void {
    if (!call.isHeld) return;
    const line = lineOf(call);
    const before = call.previous;
    const after = call.next;
    if (before == null) this.heads[line] = after;
    else before.next = after;
    if (after == null) this.tails[line] = before;
    else after.previous = before;
    call.previous = null;
    call.next = null;
    call.isHeld = false;
    this.count--;
  }

  /** Takes a call out because it goes on: the next tenant has the turn. */
  serve(call: AdmissionCall): void {
    this.turn = (lineOf(call) + 1) % LINES;
    this.remove(call);
  }

  /** Order of a call among those of all workers: the least goes first. */
  rankOf(call: AdmissionCall): u64 {
    return this.order == HoldOrder.OldestSession ? <u64>call.bornSeconds : call.heldMs;
  }

  /** The call whose turn it is. */
  first(): AdmissionCall | null {
    return this.headFrom(0);
  }

  /** The call behind that one: in its line, then in the lines after it. */
  after(call: AdmissionCall): AdmissionCall | null {
    if (call.next != null) return call.next;
    return this.headFrom(((lineOf(call) - this.turn + LINES) % LINES) + 1);
  }

  private headFrom(step: i32): AdmissionCall | null {
    for (; step < LINES; step++) {
      const head = this.heads[(this.turn + step) % LINES];
      if (head != null) return head;
    }
    return null;
  }

  private isLater(call: AdmissionCall, than: AdmissionCall): bool {
    if (this.order == HoldOrder.OldestSession && call.bornSeconds != than.bornSeconds) {
      return call.bornSeconds > than.bornSeconds;
    }
    return call.heldMs > than.heldMs;
  }
}

function lineOf(call: AdmissionCall): i32 {
  return <i32>(call.tenant % <u64>LINES);
}
