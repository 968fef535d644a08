// SPDX-License-Identifier: Apache-2.0
// The programs that are running: what each one has had, what it waits for, who started it.
import { BucketSizes, BucketTable } from "./bucket-table";
import { Program } from "./program";
import { SharedStore, Write } from "./shared-store";

const FORMAT: u16 = 0x0204;
const LIVE_ROWS: i32 = 24;
const PROBATION_ROWS: i32 = 8;
const MEAN_ROWS: i32 = 14;


@unmanaged
class ProgramRow {
  key: u64;
  parent: u64;
  arrivalMs: u64;
  lastMs: u64;
  serviceSeconds: f64;
  pathSeconds: f64;
  waitSeconds: f64;
  calls: i32;
  activeCalls: u16;
  level: u8;
  endedInTool: bool;
}

const ROW_BYTES: i32 = <i32>offsetof<ProgramRow>();
const SIZES = new BucketSizes(ROW_BYTES, LIVE_ROWS, PROBATION_ROWS, MEAN_ROWS);

/** Keys are hashes of the program's identity and its tenant. Programs of a single call stay on probation. */
export class Programs {
  private table: BucketTable;

  /** @param programs running programs to remember; each costs at most 170 bytes */
  constructor(store: SharedStore, programs: i32) {
    this.table = new BucketTable(store, "p.", FORMAT, SIZES, programs);
  }

  /** Most bytes that the table for that many programs can take. */
  static capacityBytes(programs: i32): u64 {
    return SIZES.capacityBytes(programs);
  }

  /** Fills `program` with what is known of a key. False, and an empty record, where nothing is. */
  recall(program: Program, key: u64): bool {
    this.table.openFor(key);
    return this.take(program, key);
  }

  /**
   * Opens a program's record for a change and fills `program` with it. A loop:
   * `for (attempts) { begin; change program; if (save) break; }`
   */
  begin(program: Program, key: u64): void {
    this.table.editFor(key);
    this.take(program, key);
  }

  /** Writes what `begin` opened. False where another worker wrote meanwhile: begin again. */
  save(program: Program, key: u64): bool {
    let index = this.locate(key);
    const live = program.calls > 1;
    if (index >= 0 && live && !this.table.isLive(index)) index = this.table.promote(index);
    const address = index >= 0 ? this.table.row(index) : this.table.insert(live);
    const row = changetype<ProgramRow>(address);
    row.key = key;
    row.parent = program.parent;
    row.arrivalMs = program.arrivalMs;
    row.lastMs = program.lastMs;
    row.serviceSeconds = program.serviceSeconds;
    row.pathSeconds = program.pathSeconds;
    row.waitSeconds = program.waitSeconds;
    row.calls = program.calls;
    row.level = <u8>min(program.level, 255);
    row.activeCalls = <u16>min(program.activeCalls, <i32>u16.MAX_VALUE);
    row.endedInTool = program.endedInTool;
    return this.table.commit() != Write.Conflict;
  }

  private take(program: Program, key: u64): bool {
    program.copyFrom(empty);
    const index = this.locate(key);
    if (index < 0) return false;
    const row = changetype<ProgramRow>(this.table.row(index));
    if (!isFinite(row.serviceSeconds + row.pathSeconds + row.waitSeconds)) return false;
    program.parent = row.parent;
    program.arrivalMs = row.arrivalMs;
    program.lastMs = row.lastMs;
    program.serviceSeconds = row.serviceSeconds;
    program.pathSeconds = row.pathSeconds;
    program.waitSeconds = row.waitSeconds;
    program.calls = row.calls;
    program.level = <i32>row.level;
    program.activeCalls = <i32>row.activeCalls;
    program.endedInTool = row.endedInTool;
    return true;
  }

  private locate(key: u64): i32 {
    for (let i = this.table.count - 1; i >= 0; i--) {
      if (changetype<ProgramRow>(this.table.row(i)).key == key) return i;
    }
    return -1;
  }
}

const empty = new Program();
