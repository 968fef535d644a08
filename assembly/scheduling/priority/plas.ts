// SPDX-License-Identifier: Apache-2.0
// Scheme `plas`: programs that have had least service go first.
import { Learned } from "../../memory/learned";
import { Program } from "../../memory/program";
import { bucketOf, isStarved } from "./buckets";
import { Call, Scheme } from "./scheme";

/**
 * Program-level attained service: `rank = bucket(sum of the service of the program's finished calls)`, 0 for the
 * starved. Source: Agentix (Autellix), arXiv 2502.13965, section 4.2.
 */
export class Plas extends Scheme {
  rank(program: Program, call: Call, learned: Learned): i32 {
    return isStarved(program) ? 0 : bucketOf(program.serviceSeconds);
  }
}
