// SPDX-License-Identifier: Apache-2.0
// What is known of one program (a session, or all sessions of a task) that priorities depend on. Plain data.

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

  copyFrom(other: Program): void {
    this.arrivalMs = other.arrivalMs;
    this.serviceSeconds = other.serviceSeconds;
    this.pathSeconds = other.pathSeconds;
    this.waitSeconds = other.waitSeconds;
    this.level = other.level;
  }
}
