// SPDX-License-Identifier: Apache-2.0
// How answers teach the policy `priced` its speeds, its decode price and what a global tier returns.
import { Learned } from "../../memory/learned";

/** Time to first token that no prefill explains: network, scheduling, the first decode step. */
const BASE_SECONDS: f64 = 0.03;
/** A ratio of these steps settles where 40 % of the samples lie below: single slow answers count once. */
const STEP_UP: f64 = 1.02;
const STEP_DOWN: f64 = 0.97;
/** Fewer computed (fetched) tokens say more about noise than about speed. */
const LEAST_COMPUTED: f64 = 512;
const LEAST_FETCHED: f64 = 2048;
/** A smaller missing prefix says nothing of a tier. */
const LEAST_MISSING: f64 = 4096;
const SHARE_RATE: f64 = 0.1;
const DECODE_MEMORY: f64 = 0.995;
const TPOT_RATE: f64 = 0.02;
const OUTPUT_RATE: f64 = 0.005;
/** A report this far under the belief means that the prefix was evicted. */
const EVICTION_TOKENS: f64 = 2048;
/** Prose and code in one prompt differ in tokens per byte: a belief is right to this share only. */
const EVICTION_SHARE: f64 = 0.05;
/** Speeds stay in this range whatever an answer claims (1 us is 1,000,000 tokens per second). */
const FASTEST_SECONDS: f64 = 1e-7;
const SLOWEST_SECONDS: f64 = 0.1;

/** The number of an answer that did not tell it. */
export const UNKNOWN: f64 = -1;

/** One finished answer beside what was believed when its request was sent. Reused from answer to answer. */
export class Lesson {
  /** Prompt tokens as reported; where they were not told, as estimated. */
  promptTokens: f64 = 0;
  /** Prompt tokens as estimated when the request was sent: the unit of beliefs, loads and prices. */
  estimatedTokens: f64 = 0;
  /** As reported, by number or by silence; UNKNOWN where nothing says them. */
  cachedTokens: f64 = UNKNOWN;
  outputTokens: f64 = UNKNOWN;
  /** h: prefix believed at the endpoint when the request was sent. */
  heldTokens: f64 = 0;
  /** Head (tools, system text) of the prompt: any endpoint of the application may have it cached. */
  headTokens: f64 = 0;
  /** m: prefix served before anywhere behind this gateway. */
  seenTokens: f64 = 0;
  /** The session had been served here before: only then does `seenTokens` mean something. */
  known: bool = false;
  /** q of the endpoint when the request was sent, without this request. */
  queuedTokens: f64 = 0;
  /** Context tokens of the answers decoded at the endpoint at the end, this one included. */
  decodedContextTokens: f64 = 0;
  /** Seconds to the first byte of the answer, and per output token after it; UNKNOWN where not seen. */
  ttftSeconds: f64 = UNKNOWN;
  tpotSeconds: f64 = UNKNOWN;
}

/** Cached tokens of an answer, in estimated tokens; UNKNOWN where nothing says them. */
function reportedCachedTokens(lesson: Lesson): f64 {
  if (lesson.cachedTokens < 0) return UNKNOWN;
  return min(lesson.cachedTokens, lesson.promptTokens) * estimatedPerReported(lesson);
}

/** Reports count with the engine's tokenizer, beliefs by estimate: what is compared must have one unit. */
function estimatedPerReported(lesson: Lesson): f64 {
  return lesson.promptTokens > 0 ? promptOf(lesson) / lesson.promptTokens : 1;
}

function promptOf(lesson: Lesson): f64 {
  return lesson.estimatedTokens > 0 ? lesson.estimatedTokens : lesson.promptTokens;
}

/** The belief at the endpoint was wrong: everything older there was evicted too (least recently used first). */
export function isEvicted(lesson: Lesson): bool {
  const cached = reportedCachedTokens(lesson);
  const tolerated = max(EVICTION_TOKENS, EVICTION_SHARE * lesson.heldTokens);
  return cached >= 0 && cached + tolerated < lesson.heldTokens;
}

/**
 * Takes one answer into account. Without reported cached tokens the belief stands in for them, so that speeds
 * are still learned from the time to the first token; the tier's share is then left alone.
 *
 *     held = max(belief, head), x = queued + prompt - cached, fetched = max(0, cached - held)
 *     fetched <= x / 2, x >= 512:  w1 follows (TTFT - 30 ms) / x
 *     else fetched >= 2048:        w2 follows (TTFT - 30 ms - w1 x) / fetched
 *     seen - held > 4096:          G  += 0.1 ((cached - held) / (seen - held) - G)
 *
 * @param share G that the policy used for this request, after `tier`
 */
export function learnPrices(learned: Learned, lesson: Lesson, share: f64): void {
  let cached = reportedCachedTokens(lesson);
  if (cached >= 0) {
    learned.reports += 1;
    learned.silent = 0;
    learnShare(learned, lesson, cached);
  } else {
    learned.silent += 1;
    cached = min(promptOf(lesson), believedCached(lesson, share));
  }
  learnSpeeds(learned, lesson, cached);
  learnDecode(learned, lesson);
}

function believedCached(lesson: Lesson, share: f64): f64 {
  const held = localTokens(lesson);
  return held + share * max(0, lesson.seenTokens - held);
}

/** What a tier need not have returned: the belief, and the head, which other sessions may have left there. */
function localTokens(lesson: Lesson): f64 {
  return max(lesson.heldTokens, lesson.headTokens);
}

function learnShare(learned: Learned, lesson: Lesson, cached: f64): void {
  const held = localTokens(lesson);
  const missing = lesson.seenTokens - held;
  if (!lesson.known || missing <= LEAST_MISSING) return;
  const returned = min(1, max(0, (cached - held) / missing));
  learned.returnedShare += SHARE_RATE * (returned - learned.returnedShare);
}

function learnSpeeds(learned: Learned, lesson: Lesson, cached: f64): void {
  if (lesson.ttftSeconds < 0) return;
  const computed = lesson.queuedTokens + promptOf(lesson) - cached;
  const fetched = max(0, cached - localTokens(lesson));
  const seconds = lesson.ttftSeconds - BASE_SECONDS;
  if (fetched <= computed / 2) {
    if (computed < LEAST_COMPUTED) return;
    learned.uncachedSeconds = follow(learned.uncachedSeconds, seconds / computed);
  } else if (fetched >= LEAST_FETCHED) {
    const spent = learned.uncachedSeconds * computed;
    learned.fetchedSeconds = follow(learned.fetchedSeconds, (seconds - spent) / fetched);
  }
}

function learnDecode(learned: Learned, lesson: Lesson): void {
  if (lesson.tpotSeconds >= 0) {
    learned.tpotSeconds += TPOT_RATE * (lesson.tpotSeconds - learned.tpotSeconds);
  }
  if (lesson.tpotSeconds >= 0 && lesson.decodedContextTokens > 0) {
    learned.tpotSum = DECODE_MEMORY * learned.tpotSum + lesson.tpotSeconds;
    learned.decodedContextSum =
      DECODE_MEMORY * learned.decodedContextSum + lesson.decodedContextTokens;
  }
  if (lesson.outputTokens >= 0) {
    learned.outputTokens += OUTPUT_RATE * (lesson.outputTokens - learned.outputTokens);
  }
}

/** One step of a quantile tracker. */
function follow(value: f64, sample: f64): f64 {
  const next = value * (sample > value ? STEP_UP : STEP_DOWN);
  return min(SLOWEST_SECONDS, max(FASTEST_SECONDS, next));
}
