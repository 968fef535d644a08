// SPDX-License-Identifier: Apache-2.0
// Turn numbers in few bands, so that a label can carry them: each band is twice as wide as the one before.

export enum TurnBand {
  /** No turns: a plain prompt, or a body that was not understood. */
  None = 0,
  /** First turns: what they find is what sessions have in common. */
  First = 1,
  /** Turns 2 and 3. */
  From2 = 2,
  /** Turns 4 to 7. */
  From4 = 3,
  /** Turns 8 to 15. */
  From8 = 4,
  /** Turn 16 and later. */
  From16 = 5,
}

export const TURN_BANDS: i32 = 6;

/** Band of a structural turn number; 0 = the request has no turns. */
export function turnBand(turn: i32): TurnBand {
  if (turn <= 0) return TurnBand.None;
  return <TurnBand>min(32 - clz(turn), TURN_BANDS - 1);
}

/** Name of a band as counters write it: also without rules for labels, where only letters, digits and `_` remain. */
export function turnBandName(band: TurnBand): string {
  switch (band) {
    case TurnBand.First:
      return "1";
    case TurnBand.From2:
      return "2_to_3";
    case TurnBand.From4:
      return "4_to_7";
    case TurnBand.From8:
      return "8_to_15";
    case TurnBand.From16:
      return "16_up";
    default:
      return "none";
  }
}
