// SPDX-License-Identifier: Apache-2.0
// Scheme `atlas`: programs with the shortest path of calls behind them go first.
import { Learned } from "../../memory/learned";
import { Program } from "../../memory/program";
import { bucketOf, isStarved } from "./buckets";
import { Call, Scheme } from "./scheme";

/**
 * Adaptive thread-level attained service: parallel calls count once. One number per program stands for the graph:
 * a call inherits it when sent, and `path = max(path, inherited + own)` when finished; `rank = bucket(path)`, 0
 * for the starved. Source: Agentix (Autellix), arXiv 2502.13965, section 4.2.
 */
export class Atlas extends Scheme {
  rank(program: Program, call: Call, learned: Learned): i32 {
    return isStarved(program) ? 0 : bucketOf(program.pathSeconds);
  }
}
