// SPDX-License-Identifier: Apache-2.0
// Which endpoints have told cached tokens, and in answers of which wire formats: what this VM has seen itself.
import { MAX_SLOTS, NO_SLOT } from "./roster";

/** Wire formats that are told apart. */
export const MAX_VOICES: u32 = 16;

const GENERATION_SHIFT: u32 = 16;
const VOICES: u32 = 0xffff;

/**
 * A bit per wire format beside each slot. Not shared: whoever has heard nothing yet takes silence for silence, and
 * the first answer that tells ends that.
 */
export class Tellers {
  /** The slot's generation in the high half: bits of an earlier endpoint say nothing of the one that has it now. */
  private readonly rows: StaticArray<u32> = new StaticArray<u32>(MAX_SLOTS);

  /** An endpoint has told cached tokens. @param voice number of the wire format, below MAX_VOICES */
  note(slot: i32, generation: u16, voice: u32): void {
    if (!isRow(slot, generation, voice)) return;
    const row = this.rowOf(slot, generation);
    this.rows[slot] = ((<u32>generation) << GENERATION_SHIFT) | row | (1 << voice);
  }

  /** Whether that endpoint has told cached tokens before, in that wire format. */
  has(slot: i32, generation: u16, voice: u32): bool {
    return isRow(slot, generation, voice) && (this.rowOf(slot, generation) & (1 << voice)) != 0;
  }

  /** The bits of that generation. */
  private rowOf(slot: i32, generation: u16): u32 {
    const row = this.rows[slot];
    return row >> GENERATION_SHIFT == <u32>generation ? row & VOICES : 0;
  }
}

/** Generation 0 is a free slot. */
function isRow(slot: i32, generation: u16, voice: u32): bool {
  return slot > NO_SLOT && slot < MAX_SLOTS && generation != 0 && voice < MAX_VOICES;
}
