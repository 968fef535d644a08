// SPDX-License-Identifier: Apache-2.0
// The rule of admission as a whole: who passes, who waits, where the waiting go, what is learned.
import { Admission, Verdict } from "../../../../assembly/scheduling/admission/admission";
import { EndpointState } from "../../../../assembly/scheduling/admission/endpoint-state";
import { LocalEndpoints } from "../../../../assembly/scheduling/admission/endpoints";
import { AdmissionOptions } from "../../../../assembly/scheduling/admission/options";
import { StopClass } from "../../../../assembly/scheduling/admission/stop-class";
import { callOf, fleet, given, run, START_MS, told } from "./scene";

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

  it("lets nobody wait for a clock that was set back to catch up", () => {
    const options = new AdmissionOptions();
    options.capacityTokens = 100_000;
    options.holdLimitMs = 300_000;
    const admission = new Admission(options, new LocalEndpoints());
    const loads = fleet(1);
    admission.tick(START_MS);
    run(admission, callOf(1, 80_000), 0, START_MS);
    const call = callOf(2, 50_000);
    admission.arrive(call, loads, START_MS);
    expect(admission.overdue(loads, START_MS + 1_000) == null).toBe(true);
    expect(admission.overdue(loads, START_MS - 3_600_000) == call).toBe(true);
    // Neither does the session that is there idle for centuries: its place is kept.
    admission.tick(START_MS - 3_600_000);
    expect(admission.endpoints.view(0).stack.residentTokens).toBeGreaterThan(0);
  });

  it("bounds its queue: more go on, or first turns are refused", () => {
    const options = new AdmissionOptions();
    options.maxHeld = 1;
    const admission = new Admission(options, new LocalEndpoints());
    const loads = fleet(0);
    expect(admission.arrive(callOf(1, 1), loads, START_MS)).toBe(Verdict.Hold);
    expect(admission.arrive(callOf(2, 1), loads, START_MS)).toBe(Verdict.Unheld);
    options.refuseFirstTurns = true;
    expect(admission.arrive(callOf(3, 1), loads, START_MS)).toBe(Verdict.Refuse);
    expect(admission.arrive(callOf(4, 1_000, 5), loads, START_MS)).toBe(Verdict.Unheld);
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

  it("takes a session that has lost its copy back into its own share", () => {
    const admission = given(1_000_000);
    const loads = fleet(2);
    admission.tick(START_MS);
    const call = callOf(1, 10_000, 0);
    call.expectedTokens = 0;
    loads.foreign[0] = true;
    admission.arrive(call, loads, START_MS);
    admission.release(loads, START_MS);
    expect(call.slot).toBe(1);
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
