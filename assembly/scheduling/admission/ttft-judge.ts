// SPDX-License-Identifier: Apache-2.0
// Whether a prefix was cached, judged by the time to the first token.

export enum Judgement {
  Unclear = 0,
  Hit = 1,
  Loss = 2,
}

/** Tokens of prefill that any request may meet, and the doubt about the queue. */
const SLACK_TOKENS: f64 = 3_000;
const QUEUE_DOUBT: f64 = 2;
/** A cold request at session lengths takes this much more than its tokens alone: attention. */
const COLD_DOUBT: f64 = 1.3;
const HIT_SHARE: f64 = 0.25;
const LOSS_SHARE: f64 = 0.7;

/**
 * `base = 2 w (queued + 3,000)`, `cold = 1.3 w (expected - shared)`: a hit below `base + cold / 4`, a loss above
 * `base + 0.7 cold`, w = seconds per uncached token.
 */
export function judgeByTtft(
  ttftSeconds: f64,
  uncachedSeconds: f64,
  queuedTokens: f64,
  expectedTokens: f64,
  sharedTokens: f64,
): Judgement {
  if (ttftSeconds < 0) return Judgement.Unclear;
  const base = QUEUE_DOUBT * uncachedSeconds * (queuedTokens + SLACK_TOKENS);
  const cold = COLD_DOUBT * uncachedSeconds * max(0, expectedTokens - sharedTokens);
  if (ttftSeconds < base + HIT_SHARE * cold) return Judgement.Hit;
  return ttftSeconds > base + LOSS_SHARE * cold ? Judgement.Loss : Judgement.Unclear;
}
