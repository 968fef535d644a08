// SPDX-License-Identifier: Apache-2.0
// The stack's kept sums and its searches from the newest end, against a plain list that is walked each time.
import { LruStack, MAX_ENTRIES } from "../../../../assembly/scheduling/admission/lru-stack";
import { StopClass } from "../../../../assembly/scheduling/admission/stop-class";

const NOW_MS: u64 = 1_796_000_000_000;
const SESSIONS: u32 = 480;
const STEPS: i32 = 6_000;
const GONE_SHARE: f64 = 0.5;

class Entry {
  session: u64 = 0;
  tokens: f64 = 0;
  flights: i32 = 0;
  answered: bool = false;
  resident: bool = false;

  get holds(): bool {
    return this.flights == 0 || this.answered;
  }
}

/** Oldest first, as the stack. */
class PlainStack {
  entries: Array<Entry> = [];

  indexOf(session: u64): i32 {
    for (let i = 0; i < this.entries.length; i++) {
      if (this.entries[i].session == session) return i;
    }
    return -1;
  }

  send(session: u64, tokens: f64): void {
    const at = this.indexOf(session);
    let entry = new Entry();
    entry.session = session;
    if (at >= 0) entry = this.entries.splice(at, 1)[0];
    else if (this.entries.length == MAX_ENTRIES) this.entries.shift();
    entry.tokens = tokens;
    entry.flights = min(15, entry.flights + 1);
    entry.answered = false;
    entry.resident = true;
    this.entries.push(entry);
  }

  end(session: u64, tokens: f64, stays: bool): void {
    const at = this.indexOf(session);
    if (at < 0) return;
    const entry = this.entries.splice(at, 1)[0];
    entry.flights = max(0, entry.flights - 1);
    if (entry.flights == 0) entry.answered = false;
    entry.tokens = tokens;
    entry.resident = stays || entry.flights > 0;
    this.entries.push(entry);
  }

  uncountGone(capacity: f64): void {
    let left = capacity;
    for (let i = 0; i < this.entries.length; i++) {
      if (this.entries[i].flights > 0) left -= this.entries[i].tokens;
    }
    for (let i = this.entries.length - 1; i >= 0; i--) {
      const entry = this.entries[i];
      if (entry.flights > 0) continue;
      if (left < GONE_SHARE * entry.tokens) entry.resident = false;
      left -= entry.tokens;
    }
  }
}

function expectSame(stack: LruStack, plain: PlainStack, session: u64): void {
  const own = plain.indexOf(session);
  expect(stack.count).toBe(plain.entries.length);
  expect(stack.find(session)).toBe(own);
  let total: f64 = 0;
  let resident: f64 = 0;
  let flying: f64 = 0;
  let low: f64 = 0;
  let high: f64 = 0;
  for (let i = 0; i < plain.entries.length; i++) {
    const entry = plain.entries[i];
    total += entry.tokens;
    if (entry.resident) resident += entry.tokens;
    if (entry.flights > 0) flying += entry.tokens;
    if (i == own || (i < own && entry.flights == 0)) continue;
    high += entry.tokens;
    if (entry.holds) low += entry.tokens;
  }
  expect(stack.totalTokens).toBe(total);
  expect(stack.residentTokens).toBe(resident);
  expect(stack.flyingTokens).toBe(flying);
  expect(stack.measure(session)).toBe(own >= 0);
  expect(stack.low).toBe(own < 0 ? 0 : low);
  expect(stack.high).toBe(own < 0 ? 0 : high);
}

describe("a stack", () => {
  it("says the same as a plain list, whatever happens", () => {
    const stack = new LruStack();
    const plain = new PlainStack();
    let seed: u32 = 11;
    for (let step = 0; step < STEPS; step++) {
      seed = seed * 1664525 + 1013904223;
      const session = 1 + <u64>((seed >> 8) % SESSIONS);
      const tokens = <f64>(1 + ((seed >> 4) % 90_000));
      switch (<i32>(seed >> 29)) {
        case 0:
        case 1:
        case 2:
          stack.send(session, tokens, 0, NOW_MS);
          plain.send(session, tokens);
          break;
        case 3:
          stack.firstByte(session);
          if (plain.indexOf(session) >= 0) plain.entries[plain.indexOf(session)].answered = true;
          break;
        case 4:
        case 5:
        case 6:
          stack.end(session, tokens, StopClass.Tool, tokens > 30_000, NOW_MS);
          plain.end(session, tokens, tokens > 30_000);
          break;
        default:
          stack.uncountGone(20 * tokens + 0.5, GONE_SHARE);
          plain.uncountGone(20 * tokens + 0.5);
      }
      if (step % 7 == 0) expectSame(stack, plain, session);
    }
    expect(stack.count).toBeGreaterThan(300);
  });

  it("says the same after it was saved and taken over", () => {
    const stack = new LruStack();
    const copy = new LruStack();
    for (let session: u64 = 1; session <= 50; session++) {
      stack.send(session, <f64>(session * 1_000), 0, NOW_MS);
      if (session % 3 != 0) stack.firstByte(session);
      if (session % 4 != 0) stack.end(session, 500, StopClass.Tool, session % 5 != 0, NOW_MS);
    }
    const bytes = new StaticArray<u8>(16 * MAX_ENTRIES);
    stack.save(changetype<usize>(bytes));
    copy.restore(changetype<usize>(bytes), stack.count);
    expect(copy.totalTokens).toBe(stack.totalTokens);
    expect(copy.residentTokens).toBe(stack.residentTokens);
    expect(copy.flyingTokens).toBe(stack.flyingTokens);
    copy.measure(20);
    stack.measure(20);
    expect(copy.low).toBe(stack.low);
    expect(copy.high).toBe(stack.high);
  });
});
