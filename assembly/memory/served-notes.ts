// SPDX-License-Identifier: Apache-2.0
// Answers that a fleet's numbers do not count yet: written together once a tick instead of a read and a write each.
import { NO_SLOT, MAX_SLOTS } from "./roster";
import { NumbersTable, SlotNumbers, SLOTS_PER_VALUE } from "./slot-numbers";
import { Write, WRITE_ATTEMPTS } from "./shared-store";

/** Answers of one VM between two ticks; one more writes those before it. */
const MAX_NOTES: i32 = 64;

/** One answer: who served it, and where its session had committed its tokens before. */
class Note {
  slot: i32 = NO_SLOT;
  generation: u16 = 0;
  tokens: f32 = 0;
  /** Tag of head and model; 0 = none. */
  head: u32 = 0;
  servedMs: u64 = 0;
  formerSlot: i32 = NO_SLOT;
  formerGeneration: u16 = 0;
  formerTokens: f32 = 0;
  formerMs: u64 = 0;

  serve(row: SlotNumbers): void {
    row.servedS = <u32>(this.servedMs / 1_000);
    row.disobeyed = 0;
    row.commitTokens(this.tokens, this.servedMs);
    if (this.head != 0) row.serveHead(this.head);
  }
}

/** `add` a note, and say with `release` what it takes back; `write` puts all into the table. */
export class ServedNotes {
  count: i32 = 0;
  private notes: StaticArray<Note> = new StaticArray<Note>(MAX_NOTES);
  /** Tokens committed and released by the notes, by slot: what the table lacks. */
  private tokens: StaticArray<f64> = new StaticArray<f64>(MAX_SLOTS);

  constructor() {
    for (let i = 0; i < MAX_NOTES; i++) this.notes[i] = new Note();
  }

  get isFull(): bool {
    return this.count == MAX_NOTES;
  }

  /** An endpoint has answered. The caller has made room. */
  add(slot: i32, generation: u16, tokens: u32, head: u32, nowMs: u64): void {
    const note = this.notes[this.count++];
    note.slot = slot;
    note.generation = generation;
    note.tokens = <f32>tokens;
    note.head = head;
    note.servedMs = nowMs;
    note.formerSlot = NO_SLOT;
    this.tokens[slot] += <f64>tokens;
  }

  /** The session of the last note had committed tokens elsewhere, or here, at `thenMs`. */
  release(slot: i32, generation: u16, tokens: u32, thenMs: u64): void {
    const note = this.notes[this.count - 1];
    note.formerSlot = slot;
    note.formerGeneration = generation;
    note.formerTokens = <f32>tokens;
    note.formerMs = thenMs;
    this.tokens[slot] -= <f64>tokens;
  }

  /** Tokens that the table does not count for a slot yet. */
  tokensAt(slot: i32): f64 {
    return this.count == 0 ? 0 : unchecked(this.tokens[slot]);
  }

  /** Writes all notes, one value after the other. */
  write(table: NumbersTable, nowMs: u64): void {
    let groups: u32 = 0;
    for (let i = 0; i < this.count; i++) {
      const note = this.notes[i];
      groups |= groupBit(note.slot);
      if (note.formerSlot != NO_SLOT) groups |= groupBit(note.formerSlot);
    }
    for (; groups != 0; groups &= groups - 1) this.writeGroup(ctz(groups), table, nowMs);
    this.forget();
  }

  private writeGroup(group: i32, table: NumbersTable, nowMs: u64): void {
    for (let attempt = 0; attempt < WRITE_ATTEMPTS; attempt++) {
      table.editFor(group * SLOTS_PER_VALUE);
      for (let i = 0; i < this.count; i++) {
        const note = this.notes[i];
        if (note.formerSlot != NO_SLOT && table.covers(note.formerSlot)) {
          const row = table.peek(note.formerSlot, note.formerGeneration);
          if (row != null) row.releaseTokens(note.formerTokens, note.formerMs, note.servedMs);
        }
        if (table.covers(note.slot)) note.serve(table.claim(note.slot, note.generation));
      }
      if (table.save(nowMs) != Write.Conflict) return;
    }
  }

  private forget(): void {
    for (let i = 0; i < this.count; i++) {
      const note = this.notes[i];
      this.tokens[note.slot] = 0;
      if (note.formerSlot != NO_SLOT) this.tokens[note.formerSlot] = 0;
    }
    this.count = 0;
  }
}

function groupBit(slot: i32): u32 {
  return (<u32>1) << (slot / SLOTS_PER_VALUE);
}
