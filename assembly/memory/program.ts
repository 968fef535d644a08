// SPDX-License-Identifier: Apache-2.0
// What is known of one program (a session, or all sessions of a task) that priorities depend on. Plain data.

/** What a program is doing, as far as a gateway can tell. */
export enum ProgramState {
  /** Nothing was heard of it for long, or its last answer asked for no tool: a person is reading. */
  Idle = 0,
  /** At least one of its calls is with an engine. */
  Computing = 1,
  /** Its last answer asked for a tool: it will be back soon. */
  InTool = 2,
}

/** A tool that takes longer than this is not waited for. */
const LONGEST_TOOL_MS: u64 = 600_000;
/** A call that is open for longer than this was lost with its worker. */
const LONGEST_CALL_MS: u64 = 3_600_000;

/** Times in seconds of engine service unless named otherwise. One record per program, shared by all workers. */
export class Program {
  /** When its first request came, ms since the epoch. */
  arrivalMs: u64 = 0;
  /** Service of all finished calls together. */
  serviceSeconds: f64 = 0;
  /** Longest path of calls: each finished call adds its own service to what it found when it was sent. */
  pathSeconds: f64 = 0;
  /** What its calls waited in engine queues. */
  waitSeconds: f64 = 0;
  /** Level in a multi-level feedback queue, 0 first. */
  level: i32 = 0;
  /** Key of the program that started this one; 0 = none was told. */
  parent: u64 = 0;
  /** Calls that ever began. */
  calls: i32 = 0;
  /** Calls that are with an engine now. */
  activeCalls: i32 = 0;
  /** When its last call began or ended, ms since the epoch. */
  lastMs: u64 = 0;
  /** The call that ended last asked for a tool. */
  endedInTool: bool = false;

  copyFrom(other: Program): void {
    this.arrivalMs = other.arrivalMs;
    this.serviceSeconds = other.serviceSeconds;
    this.pathSeconds = other.pathSeconds;
    this.waitSeconds = other.waitSeconds;
    this.level = other.level;
    this.parent = other.parent;
    this.calls = other.calls;
    this.activeCalls = other.activeCalls;
    this.lastMs = other.lastMs;
    this.endedInTool = other.endedInTool;
  }

  state(nowMs: u64): ProgramState {
    const silentMs = nowMs > this.lastMs ? nowMs - this.lastMs : 0;
    if (this.activeCalls > 0 && silentMs <= LONGEST_CALL_MS) return ProgramState.Computing;
    if (this.endedInTool && silentMs <= LONGEST_TOOL_MS) return ProgramState.InTool;
    return ProgramState.Idle;
  }

  /** A call of the program leaves for an engine. */
  noteStart(parent: u64, nowMs: u64): void {
    if (this.arrivalMs == 0) this.arrivalMs = nowMs;
    if (this.activeCalls > 0 && this.state(nowMs) != ProgramState.Computing) this.activeCalls = 0;
    if (parent != 0) this.parent = parent;
    this.calls++;
    this.activeCalls++;
    this.lastMs = nowMs;
  }

  /** A call of the program is over, however it ended. */
  noteEnd(endedInTool: bool, nowMs: u64): void {
    this.activeCalls = max(0, this.activeCalls - 1);
    this.endedInTool = endedInTool;
    this.lastMs = nowMs;
  }
}
