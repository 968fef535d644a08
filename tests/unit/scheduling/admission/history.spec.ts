// SPDX-License-Identifier: Apache-2.0
// Random arrivals, ends and failures: no request is lost, none is given back twice.
import { Loads } from "../../../../assembly/memory/loads";
import { Admission, Verdict } from "../../../../assembly/scheduling/admission/admission";
import { AdmissionCall } from "../../../../assembly/scheduling/admission/admission-call";
import { StopClass } from "../../../../assembly/scheduling/admission/stop-class";
import { NO_ENDPOINT } from "../../../../assembly/scheduling/decision";
import { callOf, fleet, given, START_MS, told } from "./scene";

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
