// SPDX-License-Identifier: Apache-2.0
// What answers teach of capacities: hits, losses, slow hits, shared heads and estimates that are off.
import { StopClass } from "../../../../assembly/scheduling/admission/stop-class";
import { NO_ENDPOINT } from "../../../../assembly/scheduling/decision";
import { callOf, given, run, START_MS, told } from "./scene";

/** An engine with a prefix cache of whole sessions, least recently used out first. */
class Cache {
  sessions: Array<u64> = [];
  tokens: Array<f64> = [];

  constructor(readonly capacity: f64) {}

  /** Serves a session and returns what of its context was cached. */
  serve(session: u64, context: f64): f64 {
    const at = this.sessions.indexOf(session);
    const cached = at < 0 ? 0 : this.tokens[at];
    if (at >= 0) {
      this.sessions.splice(at, 1);
      this.tokens.splice(at, 1);
    }
    this.sessions.push(session);
    this.tokens.push(context);
    let over = this.total() - this.capacity;
    while (over > 0) {
      const taken = min(over, this.tokens[0]);
      this.tokens[0] -= taken;
      over -= taken;
      if (this.tokens[0] > 0) break;
      this.tokens.shift();
      this.sessions.shift();
    }
    return min(cached, context);
  }

  private total(): f64 {
    let sum: f64 = 0;
    for (let i = 0; i < this.tokens.length; i++) sum += this.tokens[i];
    return sum;
  }
}

describe("the measured capacity", () => {
  it("comes within a few percent of an engine's own", () => {
    const admission = given(0);
    const cache = new Cache(500_000);
    let seed: u32 = 11;
    let nowMs = START_MS;
    for (let i = 0; i < 400; i++) {
      seed = seed * 1664525 + 1013904223;
      const session = 1 + <u64>((seed >> 8) % 20);
      const context: f64 = 20_000 + 1_500 * <f64>session;
      const call = callOf(session, context + 500, 0);
      call.expectedTokens = context;
      admission.send(call, 0, 0, nowMs);
      admission.firstByte(call);
      const cached = cache.serve(session, context + 500);
      admission.end(call, told(min(cached, context), 0, StopClass.Tool, -1), nowMs);
      nowMs += 500;
      admission.tick(nowMs);
    }
    const measured = admission.endpoints.view(0).capacity.tokens;
    expect(measured).toBeGreaterThan(470_000);
    expect(measured).toBeLessThan(530_000);
  });
});

describe("hits that are as slow as losses", () => {
  it("count as losses where most of them are, not where one stood in a burst", () => {
    const admission = given(0);
    let nowMs = START_MS;
    for (let i = 0; i < 40; i++) {
      nowMs += 1_000;
      const call = callOf(1, 60_000, 0);
      admission.send(call, 0, 0, nowMs);
      admission.firstByte(call);
      const ttftSeconds: f64 = i == 5 || i > 15 ? 30 : 0.2;
      admission.end(call, told(59_500, 100, StopClass.Tool, ttftSeconds), nowMs);
      if (i == 15) expect(admission.endpoints.view(0).capacity.hasLoss).toBe(false);
    }
    expect(admission.endpoints.view(0).capacity.hasLoss).toBe(true);
  });
});

describe("a head that others share", () => {
  it("is no hit: a session that has lost its own part was evicted", () => {
    const admission = given(0);
    for (let turn: u64 = 0; turn < 2; turn++) {
      const call = callOf(1, 20_500, turn == 0 ? NO_ENDPOINT : 0);
      call.sharedTokens = 15_000;
      admission.send(call, 0, 0, START_MS + turn * 1_000);
      admission.firstByte(call);
      admission.end(call, told(15_000, 100, StopClass.Tool), START_MS + turn * 1_000 + 500);
    }
    expect(admission.endpoints.view(0).capacity.hasLoss).toBe(true);
  });

  it("says nothing of a session that has hardly more", () => {
    const admission = given(0);
    for (let turn: u64 = 0; turn < 2; turn++) {
      const call = callOf(1, 17_500, turn == 0 ? NO_ENDPOINT : 0);
      call.sharedTokens = 15_000;
      admission.send(call, 0, 0, START_MS + turn * 1_000);
      admission.firstByte(call);
      admission.end(call, told(15_000, 100, StopClass.Tool), START_MS + turn * 1_000 + 500);
    }
    expect(admission.endpoints.view(0).capacity.hasLoss).toBe(false);
  });
});

describe("a head that is longer than it was thought", () => {
  it("proves no capacity when it is all that is left of a session far down", () => {
    const admission = given(0);
    const first = callOf(1, 60_000);
    admission.send(first, 0, 0, START_MS);
    admission.end(first, told(0, 100, StopClass.Tool), START_MS);
    for (let session: u64 = 2; session < 40; session++) {
      run(admission, callOf(session, 60_000), 0, START_MS);
    }
    const call = callOf(1, 60_500, 0);
    call.sharedTokens = 14_000;
    admission.send(call, 0, 0, START_MS + 1_000);
    admission.firstByte(call);
    admission.end(call, told(15_400, 100, StopClass.Tool), START_MS + 2_000);
    const capacity = admission.endpoints.view(0).capacity;
    capacity.atLeast(1_000_000, <f64>START_MS / 1000 + 2);
    capacity.estimate(<f64>START_MS / 1000 + 2);
    expect(capacity.tokens).toBe(1_000_000);
  });
});

describe("an estimate that is off", () => {
  it("is no loss: reports are read in the unit of the estimate", () => {
    const admission = given(0);
    run(admission, callOf(1, 60_000), 0, START_MS);
    const call = callOf(1, 60_500, 0);
    admission.send(call, 0, 0, START_MS + 1_000);
    admission.firstByte(call);
    call.promptTokens = 55_000;
    admission.end(call, told(54_500, 500, StopClass.Tool), START_MS + 2_000);
    expect(admission.endpoints.view(0).capacity.hasLoss).toBe(false);
    expect(admission.endpoints.view(0).stack.residentTokens).toBe(61_000);
  });
});
