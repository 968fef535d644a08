// SPDX-License-Identifier: Apache-2.0
// The rule of admission as a whole: who passes, who waits, where the waiting go, what is learned.
import { Loads } from "../../../../assembly/memory/loads";
import { Admission, Verdict } from "../../../../assembly/scheduling/admission/admission";
import { AdmissionCall } from "../../../../assembly/scheduling/admission/admission-call";
import { LocalEndpoints } from "../../../../assembly/scheduling/admission/endpoints";
import { EndpointState } from "../../../../assembly/scheduling/admission/endpoint-state";
import { Evidence } from "../../../../assembly/scheduling/admission/evidence";
import { AdmissionOptions } from "../../../../assembly/scheduling/admission/options";
import { StopClass } from "../../../../assembly/scheduling/admission/stop-class";
import { NO_ENDPOINT } from "../../../../assembly/scheduling/decision";

const START_MS: u64 = 1_796_000_000_000;

function fleet(endpoints: i32): Loads {
  const loads = new Loads();
  loads.count = endpoints;
  loads.complete = true;
  for (let i = 0; i < endpoints; i++) loads.slots[i] = i;
  return loads;
}

function given(capacityTokens: f64): Admission {
  const options = new AdmissionOptions();
  options.capacityTokens = capacityTokens;
  return new Admission(options, new LocalEndpoints());
}

const evidence = new Evidence();

/** An answer as it ended. */
function told(
  cachedTokens: f64,
  outputTokens: f64,
  stop: StopClass,
  ttftSeconds: f64 = 0.1,
): Evidence {
  evidence.cachedTokens = cachedTokens;
  evidence.outputTokens = outputTokens;
  evidence.stop = stop;
  evidence.ttftSeconds = ttftSeconds;
  evidence.uncachedSeconds = 1e-4;
  return evidence;
}

function callOf(session: u64, promptTokens: f64, home: i32 = NO_ENDPOINT): AdmissionCall {
  const call = new AdmissionCall();
  call.session = session;
  call.promptTokens = promptTokens;
  call.home = home;
  if (home != NO_ENDPOINT) call.expectedTokens = promptTokens - 500;
  return call;
}

/** Sends a request and ends it with everything expected cached. */
function run(admission: Admission, call: AdmissionCall, slot: i32, nowMs: u64): void {
  call.bornSeconds = <u32>(nowMs / 1000);
  admission.send(call, slot, 0, nowMs);
  admission.firstByte(call);
  admission.end(call, told(call.expectedTokens, 500, StopClass.Tool), nowMs);
}

describe("admission", () => {
  it("lets first turns go to the emptiest endpoint while there is room", () => {
    const admission = given(1_000_000);
    const loads = fleet(2);
    for (let slot = 0; slot < 2; slot++) admission.endpoints.view(slot);
    admission.tick(START_MS);
    const first = callOf(1, 400_000);
    expect(admission.arrive(first, loads, START_MS)).toBe(Verdict.Hold);
    expect(admission.release(loads, START_MS) == first).toBe(true);
    expect(first.slot).toBe(0);
    expect(admission.release(loads, START_MS) == null).toBe(true);
    loads.pendingPrefill[0] = 0;
    const second = callOf(2, 400_000);
    admission.arrive(second, loads, START_MS);
    admission.release(loads, START_MS);
    expect(second.slot).toBe(1);
  });

  it("holds what does not fit until something ends, in order", () => {
    const admission = given(1_000_000);
    const loads = fleet(1);
    admission.endpoints.view(0);
    admission.tick(START_MS);
    const first = callOf(1, 600_000);
    const second = callOf(2, 600_000);
    const third = callOf(3, 10_000);
    admission.arrive(first, loads, START_MS);
    admission.release(loads, START_MS);
    loads.pendingPrefill[0] = 0;
    admission.arrive(second, loads, START_MS + 1);
    admission.arrive(third, loads, START_MS + 2);
    expect(admission.release(loads, START_MS + 2) == null).toBe(true);
    admission.firstByte(first);
    admission.end(first, told(0, 100, StopClass.EndTurn), START_MS + 3);
    expect(admission.release(loads, START_MS + 3) == second).toBe(true);
    loads.pendingPrefill[0] = 0;
    expect(admission.release(loads, START_MS + 3) == third).toBe(true);
    expect(admission.held.count).toBe(0);
  });

  it("passes a session that is resident, or still cached", () => {
    const admission = given(1_000_000);
    const loads = fleet(1);
    admission.endpoints.view(0);
    admission.tick(START_MS);
    run(admission, callOf(1, 300_000), 0, START_MS);
    expect(admission.arrive(callOf(1, 301_000, 0), loads, START_MS + 1_000)).toBe(Verdict.Pass);
    // after its time to live it is not resident, but its copy is still there
    admission.tick(START_MS + 200_000);
    expect(admission.endpoints.view(0).stack.residentTokens).toBe(0);
    expect(admission.arrive(callOf(1, 301_000, 0), loads, START_MS + 200_000)).toBe(Verdict.Pass);
    // then newer sessions push it out
    run(admission, callOf(2, 450_000), 0, START_MS + 200_000);
    run(admission, callOf(3, 450_000), 0, START_MS + 200_000);
    const back = callOf(1, 301_000, 0);
    expect(admission.arrive(back, loads, START_MS + 201_000)).toBe(Verdict.Hold);
    expect(back.bornSeconds).toBe(<u32>(START_MS / 1000));
  });

  it("lets no policy move a session where there is no room for it", () => {
    const admission = given(100_000);
    const loads = fleet(3);
    for (let slot = 0; slot < 3; slot++) admission.endpoints.view(slot);
    admission.tick(START_MS);
    run(admission, callOf(1, 60_000), 0, START_MS);
    run(admission, callOf(2, 60_000), 1, START_MS);
    const call = callOf(1, 61_000, 0);
    expect(admission.mayMove(call, 0, loads)).toBe(true);
    expect(admission.mayMove(call, 1, loads)).toBe(false);
    expect(admission.mayMove(call, 2, loads)).toBe(true);
    loads.pendingPrefill[2] = 16_000;
    expect(admission.mayMove(call, 2, loads)).toBe(false);
    // its home is gone: anywhere is better
    loads.slots[0] = 7;
    expect(admission.mayMove(call, 1, loads)).toBe(true);
  });

  it("paces cold prefills", () => {
    const admission = given(1_000_000);
    const loads = fleet(1);
    admission.endpoints.view(0);
    admission.tick(START_MS);
    loads.pendingPrefill[0] = 15_999;
    admission.arrive(callOf(1, 20_000), loads, START_MS);
    expect(admission.release(loads, START_MS) != null).toBe(true);
    expect(loads.pendingPrefill[0]).toBe(35_999);
    admission.arrive(callOf(2, 20_000), loads, START_MS);
    expect(admission.release(loads, START_MS) == null).toBe(true);
    expect(admission.endpoints.view(0).window.limited).toBe(false);
  });

  it("lets a request through when it has waited too long", () => {
    const admission = given(100_000);
    const loads = fleet(1);
    admission.endpoints.view(0);
    admission.tick(START_MS);
    run(admission, callOf(1, 80_000), 0, START_MS);
    const call = callOf(2, 50_000);
    admission.arrive(call, loads, START_MS);
    expect(admission.release(loads, START_MS + 299_999) == null).toBe(true);
    expect(admission.overdue(loads, START_MS + 299_999) == null).toBe(true);
    expect(admission.overdue(loads, START_MS + 300_000) == call).toBe(true);
    expect(call.slot).toBe(0);
  });

  it("bounds its queue: more go on, or first turns are refused", () => {
    const options = new AdmissionOptions();
    options.maxHeld = 1;
    const admission = new Admission(options, new LocalEndpoints());
    const loads = fleet(0);
    expect(admission.arrive(callOf(1, 1), loads, START_MS)).toBe(Verdict.Hold);
    expect(admission.arrive(callOf(2, 1), loads, START_MS)).toBe(Verdict.Pass);
    options.refuseFirstTurns = true;
    expect(admission.arrive(callOf(3, 1), loads, START_MS)).toBe(Verdict.Refuse);
    expect(admission.arrive(callOf(4, 1_000, 5), loads, START_MS)).toBe(Verdict.Pass);
    expect(admission.drain() != null).toBe(true);
    expect(admission.drain() == null).toBe(true);
  });

  it("keeps new sessions in its own share of the endpoints while there is one", () => {
    const admission = given(1_000_000);
    const loads = fleet(2);
    loads.foreign[0] = true;
    admission.tick(START_MS);
    const call = callOf(1, 10_000);
    admission.arrive(call, loads, START_MS);
    admission.release(loads, START_MS);
    expect(call.slot).toBe(1);
    loads.foreign[1] = true;
    loads.pendingPrefill[1] = 10;
    const next = callOf(2, 10_000);
    admission.arrive(next, loads, START_MS);
    admission.release(loads, START_MS);
    expect(next.slot).toBe(0);
  });

  it("survives a round trip of an endpoint's state through bytes, and refuses bytes of others", () => {
    const admission = given(0);
    const endpoint = admission.endpoints.view(3);
    for (let session: u64 = 1; session < 30; session++) {
      run(admission, callOf(session, 30_000), 3, START_MS);
    }
    const lossy = callOf(1, 30_500, 3);
    admission.send(lossy, 3, 0, START_MS);
    admission.firstByte(lossy);
    admission.end(lossy, told(8_000, 10, StopClass.Tool), START_MS + 1_000);
    admission.tick(START_MS + 2_000);
    const size = endpoint.savedBytes;
    const bytes = new StaticArray<u8>(size);
    endpoint.save(changetype<usize>(bytes));
    const copy = new EndpointState();
    expect(copy.restore(changetype<usize>(bytes), size)).toBe(true);
    expect(copy.savedBytes).toBe(size);
    expect(copy.capacity.tokens).toBe(endpoint.capacity.tokens);
    expect(copy.capacity.hasLoss).toBe(true);
    expect(copy.stack.residentTokens).toBe(endpoint.stack.residentTokens);
    expect(copy.warmTokens(5, 30_000)).toBe(endpoint.warmTokens(5, 30_000));
    for (let cut = 0; cut < size; cut++) {
      expect(copy.restore(changetype<usize>(bytes), cut)).toBe(false);
    }
    expect(copy.stack.count).toBe(0);
  });
});

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

describe("any history", () => {
  it("loses no request, gives none back twice and drains to nothing", () => {
    for (let seed: u32 = 1; seed <= 3; seed++) new History(seed).play();
  });
});

/** Random arrivals, ends, aborts and failures on three small endpoints. */
class History {
  private admission: Admission = given(0);
  private loads: Loads = fleet(3);
  private flying: Array<AdmissionCall> = [];
  private waiting: Array<AdmissionCall> = [];
  private homes: StaticArray<i32> = new StaticArray<i32>(30);
  private nowMs: u64 = START_MS;
  private generation: u32 = 0;

  constructor(private seed: u32) {
    for (let i = 0; i < 30; i++) this.homes[i] = NO_ENDPOINT;
  }

  play(): void {
    for (let step = 0; step < 400; step++) {
      this.nowMs += <u64>this.draw(2_000);
      const what = this.draw(10);
      if (what < 5) this.arrive();
      else if (what < 8) this.end();
      else if (what == 8) this.abort();
      else if (this.draw(20) == 0) {
        this.admission.noteEndpoint(<i32>this.draw(3), ++this.generation);
      }
      this.admission.tick(this.nowMs);
      this.releaseAll();
      expect(this.admission.held.count).toBe(this.waiting.length);
    }
    while (this.flying.length + this.waiting.length > 0) {
      this.nowMs += 301_000;
      while (this.flying.length > 0) this.end();
      this.releaseAll();
    }
    expect(this.admission.held.count).toBe(0);
    this.nowMs += 10_000_000;
    this.admission.tick(this.nowMs);
    for (let slot = 0; slot < 3; slot++) {
      expect(this.admission.endpoints.view(slot).stack.residentTokens).toBe(0);
    }
  }

  private arrive(): void {
    const session = <i32>this.draw(30);
    const call = callOf(<u64>session + 1, 5_000 + <f64>this.draw(60_000), this.homes[session]);
    call.tenant = <u64>this.draw(4);
    const verdict = this.admission.arrive(call, this.loads, this.nowMs);
    if (verdict == Verdict.Hold) this.waiting.push(call);
    else this.fly(call, call.home == NO_ENDPOINT ? <i32>this.draw(3) : call.home);
  }

  private fly(call: AdmissionCall, slot: i32): void {
    this.admission.send(call, slot, 0, this.nowMs);
    this.take(call);
  }

  private take(call: AdmissionCall): void {
    expect(this.flying.includes(call)).toBe(false);
    this.homes[<i32>call.session - 1] = call.slot;
    this.flying.push(call);
  }

  private releaseAll(): void {
    for (let i = 0; i < 3; i++) this.loads.pendingPrefill[i] = 0;
    let call = this.admission.release(this.loads, this.nowMs);
    if (call == null) call = this.admission.overdue(this.loads, this.nowMs);
    while (call != null) {
      const at = this.waiting.indexOf(call);
      expect(at).toBeGreaterThanOrEqual(0);
      this.waiting.splice(at, 1);
      this.take(call);
      call = this.admission.release(this.loads, this.nowMs);
      if (call == null) call = this.admission.overdue(this.loads, this.nowMs);
    }
  }

  private end(): void {
    if (this.flying.length == 0) return;
    const call = this.flying.splice(<i32>this.draw(this.flying.length), 1)[0];
    this.admission.firstByte(call);
    const cached = this.draw(3) == 0 ? 0 : call.expectedTokens;
    const stop = <StopClass>this.draw(3);
    this.admission.end(call, told(cached, 100, stop, 0.5), this.nowMs);
    this.admission.abandon(call);
  }

  private abort(): void {
    const total = this.flying.length + this.waiting.length;
    if (total == 0) return;
    const at = <i32>this.draw(total);
    const held = at >= this.flying.length;
    const call = held
      ? this.waiting.splice(at - this.flying.length, 1)[0]
      : this.flying.splice(at, 1)[0];
    this.admission.abandon(call);
    this.admission.abandon(call);
  }

  private draw(below: u32): u32 {
    this.seed = this.seed * 1664525 + 1013904223;
    return (this.seed >> 8) % below;
  }
}
