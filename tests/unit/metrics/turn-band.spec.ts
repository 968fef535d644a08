// SPDX-License-Identifier: Apache-2.0
// Bands of turn numbers: few, without gaps, and with names that a label can carry.
import { TurnBand, turnBand, turnBandName, TURN_BANDS } from "../../../assembly/metrics/turn-band";

describe("bands of turns", () => {
  it("begin at 1, 2, 4, 8 and 16, and the last one has no end", () => {
    const starts: StaticArray<i32> = [0, 1, 2, 4, 8, 16];
    for (let band = 1; band < TURN_BANDS; band++) {
      expect(turnBand(starts[band])).toBe(<TurnBand>band);
      expect(turnBand(starts[band] - 1)).toBe(<TurnBand>(band - 1));
    }
    expect(turnBand(17)).toBe(TurnBand.From16);
    expect(turnBand(1_000)).toBe(TurnBand.From16);
    expect(turnBand(i32.MAX_VALUE)).toBe(TurnBand.From16);
  });

  it("have one of their own for requests without turns", () => {
    expect(turnBand(0)).toBe(TurnBand.None);
    expect(turnBand(-1)).toBe(TurnBand.None);
  });

  it("have names of their own", () => {
    const names = new Set<string>();
    for (let band = 0; band < TURN_BANDS; band++) names.add(turnBandName(<TurnBand>band));
    expect(names.size).toBe(TURN_BANDS);
  });
});
