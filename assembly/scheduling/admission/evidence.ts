// SPDX-License-Identifier: Apache-2.0
// What a finished answer proves about an endpoint's capacity.
import { AdmissionCall } from "./admission-call";
import { Deed } from "./deed";
import { StopClass } from "./stop-class";
import { Judgement, judgeByTtft } from "./ttft-judge";

/** Shorter expectations say nothing of a capacity. */
const LEAST_EXPECTED: f64 = 4_000;
/**
 * A prefix is cached in blocks, and beliefs are estimates: text of one conversation differs in bytes per token by a
 * tenth. What a small real loss would have told of the capacity is less than what a false one spoils.
 */
const TOLERATED_SHARE: f64 = 0.15;
const TOLERATED_TOKENS: f64 = 64;

/** Where more of the reported hits than this were as slow as losses, a slow one is one. */
const SLOW_SHARE: f64 = 0.5;

/** One finished answer. Reused; a number that was not told is negative. */
export class Evidence {
  cachedTokens: f64 = -1;
  outputTokens: f64 = -1;
  ttftSeconds: f64 = -1;
  /** Learned seconds of prefill per uncached token: what the time to the first token is judged by. */
  uncachedSeconds: f64 = 0;
  stop: StopClass = StopClass.Other;
}

/**
 * Cached tokens to learn from, negative where nothing tells: as reported, else by the time to the first token. A
 * reported hit that took as long as a loss is one where most hits there do: an engine that always fetches over a
 * congested tier reports hits that cost as much as losses. A single slow answer only stood in a burst.
 * @param slowHits share of the endpoint's reported hits that were as slow as losses
 * @param deed takes down whether this is one more
 */
export function believedCached(
  call: AdmissionCall,
  evidence: Evidence,
  slowHits: f64,
  deed: Deed,
): f64 {
  const reported = reportedCached(call, evidence);
  if (call.expectedTokens < LEAST_EXPECTED) return reported;
  const judgement = judgeByTtft(
    evidence.ttftSeconds,
    evidence.uncachedSeconds,
    call.queuedTokens,
    call.expectedTokens,
    call.sharedTokens,
  );
  const slow = judgement == Judgement.Loss;
  if (reported < 0) {
    if (slow) return call.sharedTokens;
    return judgement == Judgement.Hit ? call.expectedTokens : -1;
  }
  if (isLost(call.expectedTokens, reported) || judgement == Judgement.Unclear) return reported;
  deed.slowHit = slow ? 1 : 0;
  return slow && slowHits > SLOW_SHARE ? min(reported, call.sharedTokens) : reported;
}

/** Cached tokens as reported, in the unit of the estimate; negative where they were not told. */
function reportedCached(call: AdmissionCall, evidence: Evidence): f64 {
  if (evidence.cachedTokens < 0 || call.promptTokens <= 0) return -1;
  return (evidence.cachedTokens * call.estimatedTokens) / call.promptTokens;
}

/** Turns a hit or a loss at a known stack distance into bounds of the capacity. */
export function fillBounds(call: AdmissionCall, cached: f64, deed: Deed): void {
  const expected = call.expectedTokens;
  if (!call.measured || expected < LEAST_EXPECTED || cached < 0) return;
  if (!isLost(expected, cached)) {
    deed.atLeast = call.low + expected;
    return;
  }
  const kept: f64 = cached > call.sharedTokens + TOLERATED_TOKENS ? cached : 0;
  deed.atMost = call.high + kept;
  if (kept > 0) deed.atLeast = call.low + kept;
  deed.lostTokens = expected - cached;
}

function isLost(expected: f64, cached: f64): bool {
  return expected - cached > max(TOLERATED_SHARE * expected, TOLERATED_TOKENS);
}
