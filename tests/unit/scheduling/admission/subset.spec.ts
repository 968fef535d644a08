// SPDX-License-Identifier: Apache-2.0
// How gateways deal the endpoints among themselves without a word.
import { Loads } from "../../../../assembly/memory/loads";
import { Subset } from "../../../../assembly/scheduling/admission/subset";

/** Rows of endpoints with these address hashes, of a cluster that has so many. */
function known(hashes: StaticArray<u64>, members: i32): Loads {
  const loads = new Loads();
  loads.count = hashes.length;
  for (let row = 0; row < hashes.length; row++) loads.endpoints[row] = hashes[row];
  loads.missing = members - hashes.length;
  loads.complete = loads.missing == 0;
  return loads;
}

function own(loads: Loads): i32 {
  let count = 0;
  for (let row = 0; row < loads.count; row++) if (!loads.foreign[row]) count++;
  return count;
}

describe("the share of a gateway", () => {
  it("is every endpoint where there is one gateway", () => {
    const loads = known([30, 10, 20], 3);
    new Subset(0, 1).mark(loads);
    expect(own(loads)).toBe(3);
  });

  it("is dealt in the order of address hashes, to each gateway as many", () => {
    const loads = known([30, 10, 40, 20], 4);
    new Subset(0, 2).mark(loads);
    expect(loads.foreign[0]).toBe(false);
    expect(loads.foreign[1]).toBe(false);
    new Subset(1, 2).mark(loads);
    expect(loads.foreign[2]).toBe(false);
    expect(loads.foreign[3]).toBe(false);
    expect(own(loads)).toBe(2);
  });

  it("stays as it is while an endpoint that only others use is forgotten", () => {
    const subset = new Subset(1, 2);
    subset.mark(known([10, 20, 30, 40], 4));
    const loads = known([20, 30, 40], 4);
    subset.mark(loads);
    expect(loads.foreign[0]).toBe(false);
    expect(loads.foreign[1]).toBe(true);
    expect(loads.foreign[2]).toBe(false);
  });

  it("is dealt anew when the fleet has changed and all of it is known", () => {
    const subset = new Subset(1, 2);
    subset.mark(known([10, 20, 30, 40], 4));
    const loads = known([20, 30, 40], 3);
    subset.mark(loads);
    expect(loads.foreign[0]).toBe(true);
    expect(loads.foreign[1]).toBe(false);
    expect(loads.foreign[2]).toBe(true);
  });
});
