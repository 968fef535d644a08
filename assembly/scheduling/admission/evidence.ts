// SPDX-License-Identifier: Apache-2.0
// What a finished answer proves about an endpoint's capacity.
import { AdmissionCall } from "./admission-call";
import { Deed } from "./deed";
import { EndpointState } from "./endpoint-state";
import { StopClass } from "./stop-class";
import { Judgement, judgeByTtft } from "./ttft-judge";

/** Shorter expectations, beyond the head that others keep in the cache, say nothing of a capacity. */
const LEAST_EXPECTED: f64 = 4_000;
/**
 * A prefix is cached in blocks, and beliefs are estimates: text of one conversation differs in bytes per token by a
 * tenth. What a small real loss would have told of the capacity is less than what a false one spoils.
 */
const TOLERATED_SHARE: f64 = 0.15;
/** But a session that has lost half of what is its own was evicted, however long the head is that it shares. */
const TOLERATED_OWN_SHARE: f64 = 0.5;
const TOLERATED_TOKENS: f64 = 64;

/** Where more of the reported hits than this were as slow as losses, a slow one is one. */
const SLOW_SHARE: f64 = 0.5;

/** Refill rates are measured at the lengths of sessions, the judge adds that on top. */
const REFILL_PER_PREFILL: f64 = 1.3;

/** One finished answer. Reused; a number that was not told is negative. */
export class Evidence {
  cachedTokens: f64 = -1;
  outputTokens: f64 = -1;
  ttftSeconds: f64 = -1;
  /** Learned seconds of prefill per uncached token: by this the time to the first token is judged at first. */
  uncachedSeconds: f64 = 0;
  stop: StopClass = StopClass.Other;
}

/**
 * Cached tokens to learn from, negative where nothing tells: as reported, else by the time to the first token. A
 * reported hit that took as long as a loss is one where most hits there do: an engine that always fetches over a
 * congested tier reports hits that cost as much as losses. A single slow answer only stood in a burst.
 * The speed that it is judged by is the endpoint's own, from requests that were cold for certain: prices are learned
 * from beliefs where nothing is reported, and beliefs are wrong just where it matters.
 * @param deed takes down whether this is one more slow hit
 */
export function believedCached(
  call: AdmissionCall,
  evidence: Evidence,
  endpoint: EndpointState,
  deed: Deed,
): f64 {
  const reported = reportedCached(call, evidence);
  if (ownTokens(call) < LEAST_EXPECTED) return reported;
  const refill = endpoint.refill;
  const judgement = judgeByTtft(
    evidence.ttftSeconds,
    refill.isMeasured ? refill.seconds / REFILL_PER_PREFILL : evidence.uncachedSeconds,
    call.queuedTokens,
    call.expectedTokens,
    call.sharedTokens,
  );
  const slow = judgement == Judgement.Loss;
  if (reported < 0) {
    if (slow) return call.sharedTokens;
    return judgement == Judgement.Hit ? call.expectedTokens : -1;
  }
  if (isLost(call, reported) || judgement == Judgement.Unclear) return reported;
  deed.slowHit = slow ? 1 : 0;
  return slow && endpoint.slowHits > SLOW_SHARE ? min(reported, call.sharedTokens) : reported;
}

/** Cached tokens as reported, in the unit of the estimate; negative where they were not told. */
function reportedCached(call: AdmissionCall, evidence: Evidence): f64 {
  if (evidence.cachedTokens < 0 || call.promptTokens <= 0) return -1;
  return (evidence.cachedTokens * call.estimatedTokens) / call.promptTokens;
}

/** Tokens computed for an answer as far as that is certain, else 0: only such tell how fast the endpoint is. */
export function computedTokens(call: AdmissionCall, cached: f64): f64 {
  if (cached >= 0) return call.estimatedTokens - cached;
  return call.expectedTokens == 0 ? call.uncachedTokens : 0;
}

/** Turns a hit or a loss at a known stack distance into bounds of the capacity. */
export function fillBounds(call: AdmissionCall, cached: f64, deed: Deed): void {
  const expected = call.expectedTokens;
  if (!call.measured || ownTokens(call) < LEAST_EXPECTED || cached < 0) return;
  if (!isLost(call, cached)) {
    deed.atLeast = call.low + expected;
    return;
  }
  // The head's length is an estimate, too: a rest that is hardly longer is the head that others keep.
  const rest = max(TOLERATED_TOKENS, TOLERATED_SHARE * expected);
  const kept: f64 = cached > call.sharedTokens + rest ? cached : 0;
  deed.atMost = call.high + kept;
  if (kept > 0) deed.atLeast = call.low + kept;
  deed.lostTokens = expected - cached;
}

/** Part of the expected prefix that no other session keeps in the cache. */
function ownTokens(call: AdmissionCall): f64 {
  return call.expectedTokens - call.sharedTokens;
}

function isLost(call: AdmissionCall, cached: f64): bool {
  const expected = call.expectedTokens;
  const tolerated = min(TOLERATED_SHARE * expected, TOLERATED_OWN_SHARE * ownTokens(call));
  return expected - cached > max(TOLERATED_TOKENS, tolerated);
}
