// SPDX-License-Identifier: Apache-2.0
// What answers taught, one record per model of a fleet, shared by all workers.
import { Learned } from "./learned";
import { PackedValue } from "./packed-value";
import { isDue } from "./roster";
import { SharedStore, Write } from "./shared-store";
import { tagOf } from "./tags";

/** Models and adapters of one cluster. */
const MAX_MODELS: i32 = 16;
const FORMAT: u16 = 0x0103;
/** Speeds drift slowly: a pick may use what was read this long ago. */
const RECALL_MS: u64 = 100;
/** Idle for so long, a record is worth half as many lessons when it comes to making room. */
const HALF_LIFE_S: u32 = 3_600;


@unmanaged
class ModelRow {
  model: u32;
  /** Seconds since the epoch. */
  usedS: u32;
}

const LEARNED_BYTES: i32 = <i32>offsetof<Learned>();
const ROW_BYTES: i32 = <i32>offsetof<ModelRow>() + LEARNED_BYTES;

export class ModelTable {
  private value: PackedValue;
  private defaults: Learned = new Learned();
  private keptMs: u64 = 0;

  constructor(store: SharedStore, name: string) {
    this.value = new PackedValue(store, name + ".m", FORMAT, ROW_BYTES, MAX_MODELS);
  }

  /** Fills `learned` with what is known of a model: the start values where nothing is. */
  recall(learned: Learned, model: u64, nowMs: u64): void {
    if (isDue(this.keptMs, RECALL_MS, nowMs) || !this.value.openKept(0)) {
      this.value.keep(0);
      this.keptMs = nowMs;
    }
    this.take(learned, this.find(tagOf(model)));
  }

  /** Changes what this VM recalls until it is read again, for what is saved later; false where there is no record. */
  anticipate(learned: Learned, model: u64): bool {
    if (!this.value.openKept(0)) return false;
    const index = this.find(tagOf(model));
    if (index >= 0) this.put(index, learned);
    return index >= 0;
  }

  /** Opens a model's record for a change; `save` ends it. */
  begin(learned: Learned, model: u64): void {
    this.value.edit(0);
    this.take(learned, this.find(tagOf(model)));
  }

  /** Writes what `begin` opened. On a conflict nothing is changed: begin again. */
  save(learned: Learned, model: u64, nowMs: u64): Write {
    const tag = tagOf(model);
    let index = this.find(tag);
    if (index < 0) index = this.makeRoom(tag, <u32>(nowMs / 1_000));
    const row = changetype<ModelRow>(this.value.row(index));
    row.model = tag;
    row.usedS = <u32>(nowMs / 1_000);
    this.put(index, learned);
    const outcome = this.value.commit();
    if (outcome == Write.Written) this.keptMs = nowMs;
    return outcome;
  }

  private put(index: i32, learned: Learned): void {
    memory.copy(this.numbersOf(index), changetype<usize>(learned), <usize>LEARNED_BYTES);
  }

  private take(learned: Learned, index: i32): void {
    const source = index < 0 ? changetype<usize>(this.defaults) : this.numbersOf(index);
    memory.copy(changetype<usize>(learned), source, <usize>LEARNED_BYTES);
    if (!learned.isSound()) learned.copyFrom(this.defaults);
  }

  private find(tag: u32): i32 {
    for (let i = 0; i < this.value.count; i++) {
      if (changetype<ModelRow>(this.value.row(i)).model == tag) return i;
    }
    return -1;
  }

  /**
   * Where all places are taken, the model that was taught least makes room, each hour since its last lesson halving
   * what it has had: names that come once displace each other, not what many answers taught. Among equals the new
   * name decides: were it age, models that take turns would all be displaced just before they come again.
   */
  private makeRoom(tag: u32, nowS: u32): i32 {
    if (this.value.count < MAX_MODELS) {
      this.value.extend(this.value.count + 1);
      return this.value.count - 1;
    }
    const first = <i32>(tag % <u32>MAX_MODELS);
    let least = first;
    for (let i = 1; i < MAX_MODELS; i++) {
      const index = (first + i) % MAX_MODELS;
      if (this.worthOf(index, nowS) < this.worthOf(least, nowS)) least = index;
    }
    return least;
  }

  /** Lessons of a record, faded by the hours since the last one. */
  private worthOf(index: i32, nowS: u32): f64 {
    const usedS = changetype<ModelRow>(this.value.row(index)).usedS;
    const learned = changetype<Learned>(this.numbersOf(index));
    const lessons = learned.reports + learned.silent;
    const hours = nowS > usedS ? (nowS - usedS) / HALF_LIFE_S : 0;
    return isFinite(lessons) ? lessons / <f64>((<u64>1) << (<u64>min(hours, 63))) : 0;
  }

  private numbersOf(index: i32): usize {
    return this.value.row(index) + offsetof<ModelRow>();
  }
}
