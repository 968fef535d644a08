// SPDX-License-Identifier: Apache-2.0
// Scheme `program-fcfs`: programs go in the order of their first requests.
import { Learned } from "../../memory/learned";
import { Program } from "../../memory/program";
import { momentRank } from "./moments";
import { Call, Scheme } from "./scheme";

/**
 * `rank = arrival of the program`, in seconds: a follow-up overtakes every program that came later. The cheapest
 * strong baseline; the order of Continuum, arXiv 2511.02230.
 */
export class ProgramFcfs extends Scheme {
  rank(program: Program, call: Call, learned: Learned): i32 {
    return momentRank(<f64>program.arrivalMs);
  }
}
