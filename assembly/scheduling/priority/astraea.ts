// SPDX-License-Identifier: Apache-2.0
// Scheme `astraea`: I/O-bound programs before compute-bound ones, the highest response ratio next.
import { Learned } from "../../memory/learned";
import { Program } from "../../memory/program";
import { momentRank } from "./moments";
import { Call, expectedSeconds, Scheme, serviceSeconds } from "./scheme";

/** Levels, and the service after which a segment on a level counts as compute-bound; doubled on each level. */
const LEVELS: i32 = 4;
const FIRST_QUANTUM_SECONDS: f64 = 4;
/** A level counts like this much later an arrival: the lower levels age instead of starving. */
const LEVEL_SECONDS: f64 = 30;
/** The response ratio at whose moment requests are compared. */
const RESPONSE_RATIO: f64 = 4;

/**
 * Stateful multi-level feedback over segments (from one tool call to the next) with highest response ratio next:
 *
 *     segment cost > quantum(level): level + 1;   ended in a tool call within it: level - 1
 *     response ratio = (W + T) / T,  W = waits of the whole program, T = expected service of this segment
 *
 * An engine takes one number that does not change while a request waits. The ratio r of a request that came at
 * `a` is reached at `a - W + (r - 1) T`, so the request whose moment for one fixed r is earliest has the highest
 * ratio then: `rank = a - W + (r - 1) T + 30 s * level`. It equals the paper's order at that moment only.
 * Source: Astraea, arXiv 2512.14142, section 4; its thresholds are unpublished, these are ours.
 */
export class Astraea extends Scheme {
  rank(program: Program, call: Call, learned: Learned): i32 {
    const segment = expectedSeconds(call, learned);
    const delay = (RESPONSE_RATIO - 1) * segment + LEVEL_SECONDS * <f64>program.level;
    return momentRank(<f64>call.nowMs + 1000 * (delay - program.waitSeconds));
  }

  finish(program: Program, call: Call, learned: Learned): void {
    super.finish(program, call, learned);
    const quantum = FIRST_QUANTUM_SECONDS * <f64>(1 << program.level);
    if (serviceSeconds(call, learned) > quantum) {
      program.level = min(LEVELS - 1, program.level + 1);
    } else if (call.endedInTool) {
      program.level = max(0, program.level - 1);
    }
  }
}
