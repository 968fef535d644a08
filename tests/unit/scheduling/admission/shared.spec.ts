// SPDX-License-Identifier: Apache-2.0
// Admission in several workers of one Envoy: one truth about the endpoints, one order of the held.
import { Loads } from "../../../../assembly/memory/loads";
import { Admission, Verdict } from "../../../../assembly/scheduling/admission/admission";
import { AdmissionCall } from "../../../../assembly/scheduling/admission/admission-call";
import { Evidence } from "../../../../assembly/scheduling/admission/evidence";
import { HeldHeads } from "../../../../assembly/scheduling/admission/held-heads";
import { AdmissionOptions } from "../../../../assembly/scheduling/admission/options";
import { SharedEndpoints } from "../../../../assembly/scheduling/admission/shared-endpoints";
import { StopClass } from "../../../../assembly/scheduling/admission/stop-class";
import { MemoryStore, SharedValues } from "../../memory/memory-store";

const START_MS: u64 = 1_796_000_000_000;

/** One worker: its own view of the store and its own queue. */
class Worker {
  store: MemoryStore;
  admission: Admission;
  loads: Loads = new Loads();

  constructor(values: SharedValues, id: u64, capacityTokens: f64) {
    const store = new MemoryStore(values);
    const options = new AdmissionOptions();
    options.capacityTokens = capacityTokens;
    const endpoints = new SharedEndpoints(store, "f", id);
    this.store = store;
    this.admission = new Admission(options, endpoints, new HeldHeads(store, "f", id));
    this.loads.count = 1;
    this.loads.complete = true;
    this.admission.endpoints.view(0);
  }

  arrive(session: u64, promptTokens: f64, nowMs: u64, home: i32 = -1): AdmissionCall {
    const call = new AdmissionCall();
    call.session = session;
    call.promptTokens = promptTokens;
    call.home = home;
    if (home >= 0) call.expectedTokens = promptTokens - 500;
    this.verdict = this.admission.arrive(call, this.loads, nowMs);
    return call;
  }

  /** A request that admission does not hold leaves for an endpoint. */
  pass(session: u64, promptTokens: f64, slot: i32, nowMs: u64): AdmissionCall {
    const call = new AdmissionCall();
    call.session = session;
    call.promptTokens = promptTokens;
    this.admission.send(call, slot, 0, nowMs);
    return call;
  }

  verdict: Verdict = Verdict.Pass;

  release(nowMs: u64): AdmissionCall | null {
    this.loads.pendingPrefill[0] = 0;
    return this.admission.release(this.loads, nowMs);
  }

  end(call: AdmissionCall, cachedTokens: f64, nowMs: u64): void {
    const evidence = new Evidence();
    evidence.cachedTokens = cachedTokens;
    evidence.stop = StopClass.Tool;
    this.admission.firstByte(call);
    this.admission.end(call, evidence, nowMs);
  }
}

let values = new SharedValues();
let one = new Worker(values, 1, 0);
let two = new Worker(values, 2, 0);

describe("workers of one Envoy", () => {
  beforeEach(() => {
    values = new SharedValues();
    one = new Worker(values, 1, 1_000_000);
    two = new Worker(values, 2, 1_000_000);
    one.admission.tick(START_MS);
    two.admission.tick(START_MS);
  });

  it("fill an endpoint together, not twice", () => {
    const first = one.arrive(1, 600_000, START_MS);
    expect(one.release(START_MS) == first).toBe(true);
    // the other worker's view is old: it looks again before it counts
    const second = two.arrive(2, 600_000, START_MS);
    expect(two.release(START_MS) == null).toBe(true);
    one.end(first, 0, START_MS + 1_000);
    one.admission.tick(START_MS + 200_000);
    two.admission.tick(START_MS + 200_000);
    expect(two.release(START_MS + 200_000) == second).toBe(true);
  });

  it("know the sessions that another worker served", () => {
    const first = one.arrive(1, 600_000, START_MS);
    one.release(START_MS);
    one.end(first, 0, START_MS + 1_000);
    one.admission.tick(START_MS + 1_050);
    two.arrive(1, 601_000, START_MS + 3_000, 0);
    expect(two.verdict).toBe(Verdict.Pass);
  });

  it("let the oldest of all held requests go first", () => {
    const running = one.arrive(1, 900_000, START_MS);
    one.release(START_MS);
    const later = one.arrive(2, 500_000, START_MS + 20);
    const earlier = two.arrive(3, 500_000, START_MS + 10);
    one.admission.tick(START_MS + 50);
    two.admission.tick(START_MS + 50);
    one.end(running, 0, START_MS + 60);
    one.admission.endpoints.edit(0).stack.release(1);
    one.admission.endpoints.commit(0);
    expect(one.release(START_MS + 100) == null).toBe(true);
    two.admission.tick(START_MS + 600);
    expect(two.release(START_MS + 600) == earlier).toBe(true);
    two.admission.tick(START_MS + 650);
    one.admission.tick(START_MS + 1_200);
    expect(one.release(START_MS + 1_200) == null).toBe(true);
    two.admission.abandon(earlier);
    two.admission.tick(START_MS + 1_750);
    one.admission.tick(START_MS + 1_800);
    expect(one.release(START_MS + 1_800) == later).toBe(true);
  });

  it("wait for no worker that is gone", () => {
    two.arrive(3, 500_000, START_MS);
    two.admission.tick(START_MS + 50);
    const mine = one.arrive(2, 500_000, START_MS + 20);
    expect(one.release(START_MS + 100) == null).toBe(true);
    expect(one.release(START_MS + 1_200) == mine).toBe(true);
  });

  it("lose nothing to conflicts", () => {
    const first = one.arrive(1, 600_000, START_MS);
    one.store.conflicts = 2;
    expect(one.release(START_MS) == first).toBe(true);
    one.end(first, 0, START_MS + 1_000);
    one.store.conflicts = 2;
    one.admission.endpoints.flush();
    const state = two.admission.endpoints.edit(0);
    expect(state.stack.count).toBe(1);
    expect(state.stack.inFlight(0)).toBe(false);
    expect(state.stack.residentTokens).toBe(600_000);
  });

  it("write what a tick brought at once, and on top of what others wrote", () => {
    for (let session: u64 = 1; session <= 40; session++) {
      const worker = session % 2 == 0 ? one : two;
      const call = worker.arrive(session, 10_000, START_MS);
      expect(worker.release(START_MS) == call).toBe(true);
      worker.end(call, 0, START_MS + 10 * session);
    }
    const before = one.store.writes;
    one.admission.endpoints.flush();
    expect(one.store.writes).toBe(before + 1);
    two.admission.endpoints.flush();
    const state = one.admission.endpoints.edit(0);
    expect(state.stack.count).toBe(40);
    for (let entry = 0; entry < 40; entry++) expect(state.stack.inFlight(entry)).toBe(false);
  });

  it("write before their journal is full", () => {
    const before = one.store.writes;
    for (let session: u64 = 1; session <= 1_000; session++) {
      const call = one.pass(session, 10, 0, START_MS);
      one.end(call, 0, START_MS + 10 * session);
    }
    expect(one.store.writes).toBeGreaterThan(before);
    expect(one.store.writes).toBeLessThan(before + 10);
    const told = two.admission.endpoints.edit(0).stack;
    expect(told.count).toBe(400);
    one.admission.endpoints.flush();
    expect(two.admission.endpoints.edit(0).stack.find(1_000)).toBe(399);
  });

  it("tell of eight endpoints with a tick, of those first that have waited for longest", () => {
    for (let slot = 0; slot < 20; slot++) one.pass(<u64>slot + 1, 10_000, slot, START_MS);
    one.pass(100, 10_000, 0, START_MS);
    for (let ticks = 1; ticks <= 3; ticks++) {
      one.admission.endpoints.flush();
      for (let slot = 0; slot < 20; slot++) {
        const stack = two.admission.endpoints.edit(slot).stack;
        expect(stack.count > 0).toBe(slot < 8 * ticks);
      }
    }
    expect(two.admission.endpoints.edit(0).stack.count).toBe(2);
    const before = one.store.writes;
    one.admission.endpoints.flush();
    expect(one.store.writes).toBe(before);
  });

  it("see what others wrote since they wrote themselves, and do again what is not written yet", () => {
    const mine = one.pass(1, 10_000, 0, START_MS);
    one.admission.endpoints.flush();
    two.pass(2, 20_000, 0, START_MS + 100);
    two.admission.endpoints.flush();
    one.end(mine, 0, START_MS + 200);
    const stack = one.admission.endpoints.edit(0).stack;
    expect(stack.count).toBe(2);
    expect(stack.find(1)).toBe(1);
    expect(stack.inFlight(1)).toBe(false);
    expect(stack.inFlight(0)).toBe(true);
    one.admission.endpoints.flush();
    expect(two.admission.endpoints.edit(0).stack.find(1)).toBe(1);
  });

  it("forget what they know of an endpoint whose slot another one has, once for all", () => {
    one.admission.noteEndpoint(0, 1);
    const first = one.arrive(1, 600_000, START_MS);
    one.release(START_MS);
    one.end(first, 0, START_MS + 1_000);
    one.admission.noteEndpoint(0, 2);
    expect(one.admission.endpoints.view(0).stack.count).toBe(0);
    const next = one.arrive(2, 600_000, START_MS + 2_000);
    expect(one.release(START_MS + 2_000) == next).toBe(true);
    two.admission.noteEndpoint(0, 2);
    expect(two.admission.endpoints.view(0).stack.count).toBe(1);
  });

  it("take back what a worker that is gone had in flight, and nothing else", () => {
    for (let session: u64 = 1; session <= 3; session++) {
      one.arrive(session, 10_000, START_MS + 10 * session);
      one.release(START_MS + 10 * session);
    }
    const stack = two.admission.endpoints.edit(0).stack;
    for (let look = 0; look < 19; look++) two.admission.noteInFlight(0, 1);
    expect(stack.flights).toBe(3);
    two.admission.noteInFlight(0, 3);
    for (let look = 0; look < 20; look++) two.admission.noteInFlight(0, 1);
    expect(stack.flights).toBe(1);
    expect(stack.inFlight(stack.find(3))).toBe(true);
  });

  it("count what all of them hold, without those that are gone", () => {
    one.arrive(1, 900_000, START_MS);
    one.release(START_MS);
    for (let session: u64 = 2; session <= 4; session++) one.arrive(session, 500_000, START_MS);
    two.arrive(5, 500_000, START_MS);
    one.admission.tick(START_MS + 50);
    two.admission.tick(START_MS + 50);
    expect(two.admission.heldEverywhere(START_MS + 60)).toBe(4);
    two.admission.tick(START_MS + 2_000);
    expect(two.admission.heldEverywhere(START_MS + 2_000)).toBe(1);
  });

  it("begin anew on values that are none of theirs", () => {
    const first = one.arrive(1, 600_000, START_MS);
    one.release(START_MS);
    for (let size = 0; size < 200; size += 7) {
      values.fillWithGarbage(size);
      one.admission.tick(START_MS + 1_000 + <u64>size * 1_000);
      expect(one.admission.endpoints.view(0).stack.count).toBe(0);
    }
    for (let at = 0; at < 200; at++) {
      values.damage(at, 0xff);
      two.admission.tick(START_MS + 900_000 + <u64>at * 1_000);
      two.release(START_MS + 900_000);
    }
    one.end(first, 0, START_MS + 2_000_000);
    one.admission.tick(START_MS + 2_000_000);
    const next = one.arrive(2, 600_000, START_MS + 2_000_000);
    expect(one.verdict).toBe(Verdict.Hold);
    expect(one.release(START_MS + 2_000_000) == next).toBe(true);
  });

  it("go on when the store refuses", () => {
    one.store.failing = true;
    const call = one.arrive(1, 600_000, START_MS);
    expect(one.release(START_MS) == call).toBe(true);
    one.end(call, 0, START_MS + 1_000);
    one.admission.tick(START_MS + 2_000);
    expect(one.admission.held.count).toBe(0);
  });
});
