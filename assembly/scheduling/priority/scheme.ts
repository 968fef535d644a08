// SPDX-License-Identifier: Apache-2.0
// What every priority scheme is: one integer for each engine request, from what its program has had so far.
import { Learned } from "../../memory/learned";
import { Program } from "../../memory/program";

/** One engine request of a program. Reused from request to request. */
export class Call {
  /** When it is sent, ms since the epoch. */
  nowMs: u64 = 0;
  /** Tokens that its endpoint must compute, as believed when sent, as reported when finished. */
  uncachedTokens: f64 = 0;
  /** Finished calls: tokens of the answer, and whether it ended in a tool call. */
  outputTokens: f64 = 0;
  endedInTool: bool = false;
  /** Finished calls: time in the engine's queue, TTFT less the prefill itself. */
  waitSeconds: f64 = 0;
  /** `pathSeconds` of the program when the call was sent. */
  inheritedSeconds: f64 = 0;
}

/** A scheme is pure: programs and calls come in, a rank goes out. Ranks are ordered within one scheme only. */
export abstract class Scheme {
  /** Rank of a request about to be sent: the lower, the earlier it should be served. */
  abstract rank(program: Program, call: Call, learned: Learned): i32;

  /** Takes a finished call into the program's record. */
  finish(program: Program, call: Call, learned: Learned): void {
    const seconds = serviceSeconds(call, learned);
    program.serviceSeconds += seconds;
    program.pathSeconds = max(program.pathSeconds, call.inheritedSeconds + seconds);
    program.waitSeconds += max(0, call.waitSeconds);
  }
}

/**
 * Service of a call by its tokens, not by the clock: what it cost does not depend on who shared the batch
 * (Astraea's argument).
 */
export function serviceSeconds(call: Call, learned: Learned): f64 {
  return learned.uncachedSeconds * call.uncachedTokens + learned.tpotSeconds * call.outputTokens;
}

/** Service that a call about to be sent is expected to need: its prefill and an answer of mean length. */
export function expectedSeconds(call: Call, learned: Learned): f64 {
  return learned.uncachedSeconds * call.uncachedTokens + learned.tpotSeconds * learned.outputTokens;
}

/** vLLM serves the lowest number first, SGLang the highest. */
export enum PrioritySign {
  LowFirst = 0,
  HighFirst = 1,
}

/**
 * The number an engine understands. It belongs on every request once a scheme is on (a request without one
 * counts as 0), and on none unless the engine schedules by priority: vLLM refuses it otherwise.
 */
export function enginePriority(rank: i32, sign: PrioritySign): i32 {
  return sign == PrioritySign.HighFirst ? -rank : rank;
}
