// SPDX-License-Identifier: Apache-2.0
// Published routing policies, as their papers and sources state them, over what a proxy knows.
import type { StepCost } from "../../mock-gpu/engine/step-cost.ts";
import { prefillMs } from "../../mock-gpu/engine/step-cost.ts";
import type { Passage } from "../drivers/virtual/gateway.ts";
import type { Knowledge } from "./knowledge.ts";
import { type Baseline, leastInFlight, leastOf } from "./policy.ts";
import { rendezvous } from "./rendezvous.ts";

/** TTFT objective: one second and 62.5 ms per thousand prompt tokens (SMetric). */
function ttftSloMs(promptTokens: number): number {
  return 1000 + 0.0625 * promptTokens;
}

/** `lambda * (1 - hit share) + (1 - lambda) * in-flight / most in-flight`, smallest first (LMetric's "linear"). */
export function linear(lambda: number): Baseline {
  return (passage, known, draws) => {
    const most = Math.max(1, ...known.inFlight);
    const score = (i: number): number => {
      const hit = known.hitTokens(passage, i) / passage.promptTokens;
      return lambda * (1 - hit) + ((1 - lambda) * known.inFlight[i]!) / most;
    };
    return leastOf(known.endpoints, score, draws);
  };
}

/** AIBrix's prefix-cache policy: unbalanced by more than `range` -> least in flight, otherwise the longest hit. */
export function filter(range: number): Baseline {
  return (passage, known, draws) => {
    const most = Math.max(...known.inFlight);
    const least = Math.min(...known.inFlight);
    if (most - least > range) return leastInFlight(known, draws);
    // Ties between equal hits go to the less loaded one.
    const score = (i: number): number => -known.hitTokens(passage, i) * 1e6 + known.inFlight[i]!;
    return leastOf(known.endpoints, score, draws);
  };
}

/** The session's own prefix decides; without one the fewest requests in flight. */
export function cacheFirst(): Baseline {
  return (passage, known, draws) => {
    const home = known.homeOf(passage);
    return home >= 0 ? home : leastInFlight(known, draws);
  };
}

/** llm-d: stay while the home's pending prefill is below `limit` tokens, then the fewest pending tokens. */
export function stickyUntilSaturated(limit: number): Baseline {
  return (passage, known, draws) => {
    const home = known.homeOf(passage);
    if (home >= 0 && known.pendingPrefill[home]! < limit) return home;
    return leastOf(known.endpoints, (i) => known.pendingPrefill[i]!, draws);
  };
}

/** DualMap (ICLR 2026): two hashed candidates; the one with the longer prefix until its queue breaks the objective. */
export function dualMap(cost: StepCost): Baseline {
  return (passage, known) => {
    const [first, second = 0] = rendezvous(passage.session.id, known.endpoints);
    const pair = [first!, second].sort(
      (a, b) => known.hitTokens(passage, b) - known.hitTokens(passage, a),
    );
    const expectedMs = (i: number): number => {
      const fresh = passage.promptTokens - known.hitTokens(passage, i);
      return (
        known.pendingPrefill[i]! * cost.prefillTokenMs +
        prefillMs(cost, fresh, passage.promptTokens)
      );
    };
    const [affine = 0, other = 0] = pair;
    if (expectedMs(affine) <= ttftSloMs(passage.promptTokens)) return affine;
    return known.pendingPrefill[other]! < known.pendingPrefill[affine]! ? other : affine;
  };
}

const HIT_RATIO = 0.5;
const SLACK = 0.5;

/**
 * Our reading of the `smetric` policy in the sources of vllm-project/router (in no release yet; its six constants
 * have no defaults there): turn gate, hit gate and objective gate keep a follow-up, otherwise the smallest
 * queued work times requests in flight.
 */
export function vllmSmetric(cost: StepCost): Baseline {
  const queuedMs = (passage: Passage, known: Knowledge, i: number): number => {
    const fresh = passage.promptTokens - known.hitTokens(passage, i);
    return (
      known.pendingPrefill[i]! * cost.prefillTokenMs + prefillMs(cost, fresh, passage.promptTokens)
    );
  };
  return (passage, known, draws) => {
    const limitMs = SLACK * ttftSloMs(passage.promptTokens);
    const all = Array.from({ length: known.endpoints }, (_, i) => queuedMs(passage, known, i));
    const home = leastOf(known.endpoints, (i) => -known.hitTokens(passage, i), draws);
    const expected =
      passage.session.app.headTokens + passage.call.tip.totalTokens - passage.call.tip.tokens;
    const keeps =
      passage.call.turn > 1 &&
      known.hitTokens(passage, home) > HIT_RATIO * expected &&
      (all[home]! <= limitMs || all.every((ms) => ms > limitMs));
    if (keeps) return home;
    return leastOf(known.endpoints, (i) => all[i]! * (known.inFlight[i]! + 1), draws);
  };
}
