// SPDX-License-Identifier: Apache-2.0
// Which endpoints have told cached tokens.
import { MAX_SLOTS, NO_SLOT } from "../../../assembly/memory/roster";
import { MAX_VOICES, Tellers } from "../../../assembly/memory/tellers";

describe("endpoints that have told cached tokens", () => {
  it("are known by wire format", () => {
    const tellers = new Tellers();
    expect(tellers.has(3, 7, 1)).toBe(false);
    tellers.note(3, 7, 1);
    tellers.note(3, 7, MAX_VOICES - 1);
    expect(tellers.has(3, 7, 1)).toBe(true);
    expect(tellers.has(3, 7, MAX_VOICES - 1)).toBe(true);
    expect(tellers.has(3, 7, 2)).toBe(false);
    expect(tellers.has(4, 7, 1)).toBe(false);
  });

  it("leave nothing to whoever has their slot next", () => {
    const tellers = new Tellers();
    tellers.note(0, 0xffff, 1);
    expect(tellers.has(0, 1, 1)).toBe(false);
    tellers.note(0, 1, 2);
    expect(tellers.has(0, 1, 1)).toBe(false);
    expect(tellers.has(0, 1, 2)).toBe(true);
    expect(tellers.has(0, 0xffff, 1)).toBe(false);
  });

  it("are no free slots, and none beyond the last", () => {
    const tellers = new Tellers();
    tellers.note(0, 0, 1);
    tellers.note(NO_SLOT, 1, 1);
    tellers.note(MAX_SLOTS, 1, 1);
    tellers.note(0, 1, MAX_VOICES);
    expect(tellers.has(0, 0, 1)).toBe(false);
    expect(tellers.has(NO_SLOT, 1, 1)).toBe(false);
    expect(tellers.has(MAX_SLOTS, 1, 1)).toBe(false);
    expect(tellers.has(0, 1, MAX_VOICES)).toBe(false);
    expect(tellers.has(0, 1, 0)).toBe(false);
  });
});
