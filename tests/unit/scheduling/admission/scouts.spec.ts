// SPDX-License-Identifier: Apache-2.0
// Requests that find endpoints which have never served: few, and fewer the longer it takes.
import { Loads } from "../../../../assembly/memory/loads";
import { Scouts } from "../../../../assembly/scheduling/admission/scouts";

const START_MS: u64 = 1_796_000_000_000;

function missing(count: i32): Loads {
  const loads = new Loads();
  loads.count = 2;
  loads.missing = count;
  loads.complete = count == 0;
  return loads;
}

function taken(scouts: Scouts, loads: Loads, nowMs: u64): i32 {
  let count = 0;
  while (count < 100 && scouts.takes(loads, nowMs)) count++;
  return count;
}

describe("scouts", () => {
  it("are all requests while no endpoint is known, and none where all are", () => {
    const scouts = new Scouts();
    const none = missing(3);
    none.count = 0;
    expect(taken(scouts, none, START_MS)).toBe(100);
    expect(taken(scouts, missing(0), START_MS)).toBe(0);
  });

  it("are one for each missing endpoint, again a second later, then more and more seldom", () => {
    const scouts = new Scouts();
    const loads = missing(3);
    expect(taken(scouts, loads, START_MS)).toBe(3);
    expect(taken(scouts, loads, START_MS + 999)).toBe(0);
    expect(taken(scouts, loads, START_MS + 1_000)).toBe(3);
    expect(taken(scouts, loads, START_MS + 2_000)).toBe(0);
    let later: i32 = 0;
    for (let second: u64 = 3; second < 3_600; second++) {
      later += taken(scouts, loads, START_MS + second * 1_000);
    }
    expect(later).toBeLessThan(3 * 64);
  });

  it("begin anew when an endpoint was found", () => {
    const scouts = new Scouts();
    expect(taken(scouts, missing(3), START_MS)).toBe(3);
    expect(taken(scouts, missing(2), START_MS + 10)).toBe(2);
  });
});
