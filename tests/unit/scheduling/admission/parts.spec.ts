// SPDX-License-Identifier: Apache-2.0
// The parts of admission: stack, capacity, window, time to live, refill rate, judgement, queue.
import { AdmissionCall } from "../../../../assembly/scheduling/admission/admission-call";
import { sortAscending } from "../../../../assembly/scheduling/admission/ascending";
import { Capacity } from "../../../../assembly/scheduling/admission/capacity";
import { HeldQueue, HoldOrder } from "../../../../assembly/scheduling/admission/held-queue";
import { LruStack, NO_ENTRY } from "../../../../assembly/scheduling/admission/lru-stack";
import { RefillRate } from "../../../../assembly/scheduling/admission/refill-rate";
import { Residency } from "../../../../assembly/scheduling/admission/residency";
import { StopClass } from "../../../../assembly/scheduling/admission/stop-class";
import { Judgement, judgeByTtft } from "../../../../assembly/scheduling/admission/ttft-judge";
import { Window } from "../../../../assembly/scheduling/admission/window";

const NOW_MS: u64 = 1_796_000_000_000;

/** A session that was served and waits for a tool. */
function serve(stack: LruStack, session: u64, tokens: f64, nowMs: u64 = NOW_MS): void {
  stack.send(session, tokens, 7, NOW_MS);
  stack.firstByte(session);
  stack.end(session, tokens, StopClass.Tool, true, nowMs);
}

describe("the stack of an endpoint", () => {
  it("measures the tokens used since a session was", () => {
    const stack = new LruStack();
    serve(stack, 1, 100);
    serve(stack, 2, 200);
    serve(stack, 3, 400);
    expect(stack.measure(1)).toBe(true);
    expect(stack.low).toBe(600);
    expect(stack.high).toBe(600);
    stack.measure(3);
    expect(stack.high).toBe(0);
    serve(stack, 1, 150);
    stack.measure(2);
    expect(stack.high).toBe(550);
    expect(stack.measure(9)).toBe(false);
    expect(stack.residentTokens).toBe(750);
  });

  it("counts requests in flight wherever they stand, waiting ones as possible only", () => {
    const stack = new LruStack();
    stack.send(1, 1_000, 0, NOW_MS);
    serve(stack, 2, 200);
    stack.measure(2);
    expect(stack.low).toBe(0);
    expect(stack.high).toBe(1_000);
    stack.firstByte(1);
    stack.measure(2);
    expect(stack.low).toBe(1_000);
    expect(stack.heldAbove(1)).toBe(200);
  });

  it("forgets its oldest session when full", () => {
    const stack = new LruStack();
    for (let session: u64 = 1; session <= 401; session++) serve(stack, session, 10);
    expect(stack.count).toBe(400);
    expect(stack.find(1)).toBe(NO_ENTRY);
    expect(stack.residentTokens).toBe(4_000);
  });

  it("keeps a session resident while another of its requests is in flight", () => {
    const stack = new LruStack();
    stack.send(1, 100, 0, NOW_MS);
    stack.send(1, 120, 0, NOW_MS);
    stack.end(1, 110, StopClass.EndTurn, false, NOW_MS);
    expect(stack.inFlight(0)).toBe(true);
    expect(stack.isResident(0)).toBe(true);
    stack.end(1, 130, StopClass.EndTurn, false, NOW_MS);
    expect(stack.isResident(0)).toBe(false);
    expect(stack.residentTokens).toBe(0);
    expect(stack.tokensOf(0)).toBe(130);
    expect(stack.stopOf(0)).toBe(StopClass.EndTurn);
    expect(stack.idleSeconds(0, NOW_MS + 12_000)).toBe(12);
  });

  it("counts nothing for a request that was abandoned", () => {
    const stack = new LruStack();
    stack.send(1, 100, 0, NOW_MS);
    stack.abandon(1);
    expect(stack.inFlight(0)).toBe(false);
    expect(stack.residentTokens).toBe(0);
    stack.abandon(1);
    stack.abandon(2);
    expect(stack.count).toBe(1);
  });
});

describe("requests that were lost with their worker", () => {
  it("are taken back after an hour", () => {
    const stack = new LruStack();
    stack.send(1, 100, 0, NOW_MS);
    stack.send(1, 100, 0, NOW_MS + 60_000);
    stack.cancelLost(NOW_MS + 3_660_000);
    expect(stack.inFlight(0)).toBe(true);
    stack.cancelLost(NOW_MS + 3_661_000);
    expect(stack.inFlight(0)).toBe(false);
    expect(stack.residentTokens).toBe(0);
  });
});

describe("a capacity", () => {
  it("is unknown until something was lost", () => {
    const capacity = new Capacity();
    capacity.atLeast(500_000, 1);
    capacity.estimate(2);
    expect(capacity.tokens).toBe(Infinity);
    expect(capacity.hasLoss).toBe(false);
  });

  it("lies between what was held and what was lost", () => {
    const capacity = new Capacity();
    capacity.atLeast(500_000, 1);
    capacity.atMost(700_000, 1);
    capacity.atMost(900_000, 1);
    capacity.estimate(1);
    expect(capacity.tokens).toBeGreaterThanOrEqual(500_000);
    expect(capacity.tokens).toBeLessThanOrEqual(700_000);
  });

  it("is not moved by one false loss among many hits, and deletes it after two refutations", () => {
    const capacity = new Capacity();
    capacity.atMost(100_000, 1);
    capacity.atMost(1_000_000, 1);
    capacity.atLeast(800_000, 2);
    capacity.estimate(2);
    expect(capacity.tokens).toBeGreaterThanOrEqual(100_000);
    capacity.atLeast(800_000, 3);
    capacity.estimate(3);
    expect(capacity.tokens).toBeGreaterThanOrEqual(800_000);
    expect(capacity.tokens).toBeLessThanOrEqual(1_000_000);
  });

  it("minimises the weighted violations, as a search over all points does", () => {
    let seed: u32 = 7;
    for (let round = 0; round < 40; round++) {
      const capacity = new Capacity();
      const values = new StaticArray<f64>(20);
      const uppers = new StaticArray<bool>(20);
      for (let i = 0; i < 20; i++) {
        seed = seed * 1664525 + 1013904223;
        values[i] = 100_000 + <f64>((seed >> 8) % 1_000_000);
        uppers[i] = i == 0 || (seed & 0x10000) != 0;
      }
      // bounds from below first: nothing is refuted, so that all twenty stay
      for (let i = 0; i < 20; i++) if (!uppers[i]) capacity.atLeast(values[i], 5);
      for (let i = 0; i < 20; i++) if (uppers[i]) capacity.atMost(values[i], 5);
      capacity.estimate(5);
      let least: f64 = Infinity;
      for (let i = 0; i < 20; i++) least = min(least, violations(values, uppers, values[i]));
      expect(violations(values, uppers, capacity.tokens)).toBe(least);
    }
  });

  it("forgets samples after five minutes and keeps what they said", () => {
    const capacity = new Capacity();
    capacity.atMost(700_000, 1);
    capacity.estimate(2);
    expect(capacity.tokens).toBe(700_000);
    capacity.estimate(302);
    expect(capacity.hasLoss).toBe(false);
    expect(capacity.tokens).toBe(700_000);
    expect(capacity.ceiling).toBe(Infinity);
  });

  it("stays what it was between two bounds that nothing contradicts", () => {
    const capacity = new Capacity();
    for (let i = 0; i < 60; i++) capacity.atLeast(400_000 + <f64>(i * 1_000), <f64>i);
    capacity.atMost(3_000_000, 60);
    capacity.estimate(60);
    expect(capacity.tokens).toBe(459_000);
    expect(capacity.ceiling).toBe(3_000_000);
    capacity.tokens = 600_000;
    capacity.estimate(60);
    expect(capacity.tokens).toBe(600_000);
    capacity.atMost(500_000, 61);
    capacity.estimate(61);
    expect(capacity.tokens).toBe(459_000);
    expect(capacity.ceiling).toBe(500_000);
  });
});

function violations(values: StaticArray<f64>, uppers: StaticArray<bool>, at: f64): f64 {
  let sum: f64 = 0;
  for (let i = 0; i < values.length; i++) {
    sum += max(0, uppers[i] ? at - values[i] : values[i] - at);
  }
  return sum;
}

const REFILL_SECONDS: f64 = 1e-4;

describe("a window", () => {
  it("is nine tenths of a known capacity, and none of an unknown", () => {
    const window = new Window();
    const capacity = new Capacity();
    window.update(capacity, REFILL_SECONDS, 0.5);
    expect(window.tokens).toBe(Infinity);
    capacity.atMost(1_000_000, 1);
    capacity.estimate(1);
    window.update(capacity, REFILL_SECONDS, 0.5);
    expect(window.tokens).toBe(900_000);
  });

  it("probes upwards while it limits, and shrinks by what is lost", () => {
    const window = new Window();
    const capacity = new Capacity();
    capacity.atMost(1_000_000, 1);
    capacity.estimate(1);
    window.limited = true;
    window.update(capacity, REFILL_SECONDS, 100);
    expect(window.tokens).toBeCloseTo(900_000 * 1.03);
    window.lostTokens = 20_000;
    window.update(capacity, REFILL_SECONDS, 0.5);
    expect(window.tokens).toBeCloseTo(900_000 * 1.01);
    window.lostTokens = 400_000;
    window.update(capacity, REFILL_SECONDS, 0.5);
    expect(window.tokens).toBe(900_000);
  });

  it("shrinks by the time that reloads take: a faster GPU bears more losses", () => {
    const capacity = new Capacity();
    capacity.atMost(1_000_000, 1);
    capacity.estimate(1);
    const slow = new Window();
    const fast = new Window();
    slow.probe = fast.probe = 0.1;
    slow.lostTokens = fast.lostTokens = 30_000;
    slow.update(capacity, REFILL_SECONDS, 0.5);
    fast.update(capacity, REFILL_SECONDS / 3, 0.5);
    expect(slow.probe).toBeCloseTo(0.07);
    expect(fast.probe).toBeCloseTo(0.09);
  });

  it("lets a capacity grow that it has outgrown without a loss, and not beyond one", () => {
    const window = new Window();
    const capacity = new Capacity();
    capacity.tokens = 1_000_000;
    window.limited = true;
    window.update(capacity, REFILL_SECONDS, 200);
    expect(capacity.tokens).toBe(1_000_000);
    expect(window.tokens).toBeCloseTo(900_000 * 1.12);
    window.limited = true;
    window.update(capacity, REFILL_SECONDS, 10);
    expect(capacity.tokens).toBe(1_040_000);
    window.update(capacity, REFILL_SECONDS, 10);
    expect(capacity.tokens).toBe(1_040_000);
    capacity.ceiling = 1_050_000;
    window.limited = true;
    window.update(capacity, REFILL_SECONDS, 10);
    expect(capacity.tokens).toBe(1_050_000);
  });
});

describe("a time to live", () => {
  it("starts with two minutes for tools and none for users", () => {
    const residency = new Residency();
    expect(residency.seconds(StopClass.Tool)).toBe(120);
    expect(residency.seconds(StopClass.EndTurn)).toBe(0);
  });

  it("covers the waits that are cheaper than a reload", () => {
    const residency = new Residency();
    for (let i = 0; i < 30; i++) residency.observe(StopClass.Tool, i < 24 ? 2 : 500);
    residency.estimate(60);
    expect(residency.seconds(StopClass.Tool)).toBeCloseTo(3.1);
    residency.estimate(100_000);
    expect(residency.seconds(StopClass.Tool)).toBeCloseTo(526);
    residency.estimate(1);
    expect(residency.seconds(StopClass.Tool)).toBe(0);
  });

  it("is not learned from a few waits", () => {
    const residency = new Residency();
    for (let i = 0; i < 19; i++) residency.observe(StopClass.Tool, 1);
    residency.estimate(60);
    expect(residency.seconds(StopClass.Tool)).toBe(120);
  });
});

describe("a refill rate", () => {
  it("is the median over cold requests, their queue included", () => {
    const refill = new RefillRate();
    for (let i = 1; i <= 9; i++) refill.observe(0.03 + <f64>i, 30_000, 70_000);
    refill.observe(100, 0, 7_999);
    refill.estimate();
    expect(refill.isMeasured).toBe(true);
    expect(refill.seconds).toBeCloseTo(5e-5);
  });

  it("keeps its start value until five requests were measured", () => {
    const refill = new RefillRate();
    for (let i = 0; i < 4; i++) refill.observe(1, 0, 10_000);
    refill.estimate();
    expect(refill.seconds).toBe(70e-6);
  });
});

describe("the time to the first token", () => {
  it("tells a hit from a loss, and knows when it does not", () => {
    // base 2 * 50 us * 3,000 = 0.3 s, cold 1.3 * 50 us * 80,000 = 5.2 s
    expect(judgeByTtft(1.5, 5e-5, 0, 90_000, 10_000)).toBe(Judgement.Hit);
    expect(judgeByTtft(2.5, 5e-5, 0, 90_000, 10_000)).toBe(Judgement.Unclear);
    expect(judgeByTtft(4.0, 5e-5, 0, 90_000, 10_000)).toBe(Judgement.Loss);
    expect(judgeByTtft(4.0, 5e-5, 40_000, 90_000, 10_000)).toBe(Judgement.Hit);
    expect(judgeByTtft(-1, 5e-5, 0, 90_000, 10_000)).toBe(Judgement.Unclear);
  });
});

function held(tenant: u64, heldMs: u64, bornSeconds: u32): AdmissionCall {
  const call = new AdmissionCall();
  call.tenant = tenant;
  call.heldMs = heldMs;
  call.bornSeconds = bornSeconds;
  call.ticket = <u32>heldMs;
  return call;
}

/** Tickets in the order in which they are served. */
function served(queue: HeldQueue): string {
  let row = "";
  let call = queue.first();
  while (call != null) {
    row += call.ticket.toString() + " ";
    queue.serve(call);
    call = queue.first();
  }
  return row;
}

/** Tickets in the order in which they are looked at. */
function seen(queue: HeldQueue): string {
  let row = "";
  let call = queue.first();
  while (call != null) {
    row += call.ticket.toString() + " ";
    call = queue.after(call);
  }
  return row;
}

describe("the queue of held requests", () => {
  it("serves by arrival, or the oldest session first", () => {
    const fifo = new HeldQueue(HoldOrder.Fifo);
    const oldest = new HeldQueue(HoldOrder.OldestSession);
    const born: StaticArray<u32> = [50, 10, 30, 10];
    for (let i = 0; i < 4; i++) {
      fifo.push(held(0, i, born[i]));
      oldest.push(held(0, i, born[i]));
    }
    expect(seen(fifo)).toBe("0 1 2 3 ");
    expect(served(fifo)).toBe("0 1 2 3 ");
    expect(served(oldest)).toBe("1 3 2 0 ");
    expect(fifo.count).toBe(0);
  });

  it("takes tenants in turn", () => {
    const queue = new HeldQueue(HoldOrder.Fifo);
    for (let i = 0; i < 4; i++) queue.push(held(0, i, 0));
    queue.push(held(1, 10, 0));
    queue.push(held(2, 20, 0));
    expect(seen(queue)).toBe("0 1 2 3 10 20 ");
    expect(served(queue)).toBe("0 10 20 1 2 3 ");
  });

  it("gives up any place at any time", () => {
    const queue = new HeldQueue(HoldOrder.Fifo);
    const calls = new Array<AdmissionCall>();
    for (let i = 0; i < 5; i++) {
      calls.push(held(0, i, 0));
      queue.push(calls[i]);
    }
    queue.remove(calls[2]);
    queue.remove(calls[0]);
    queue.remove(calls[4]);
    queue.remove(calls[4]);
    expect(queue.count).toBe(2);
    expect(served(queue)).toBe("1 3 ");
  });
});

describe("sorting", () => {
  it("puts numbers in order", () => {
    const values = new StaticArray<f64>(256);
    let seed: u32 = 3;
    for (let i = 0; i < 256; i++) {
      seed = seed * 1664525 + 1013904223;
      values[i] = <f64>((seed >> 8) % 100);
    }
    sortAscending(values, 256);
    for (let i = 1; i < 256; i++) expect(values[i]).toBeGreaterThanOrEqual(values[i - 1]);
  });
});
