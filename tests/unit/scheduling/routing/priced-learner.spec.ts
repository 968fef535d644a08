// SPDX-License-Identifier: Apache-2.0
// What answers teach the policy `priced`.
import { Tier } from "../../../../assembly/config/options";
import { Learned } from "../../../../assembly/memory/learned";
import { returnedShare } from "../../../../assembly/scheduling/routing/estimate";
import {
  isEvicted,
  learnPrices,
  Lesson,
  UNKNOWN,
} from "../../../../assembly/scheduling/routing/priced-learner";

/** A cold request of 10,000 tokens that took a second of prefill: 100 us per token. */
function coldLesson(): Lesson {
  const lesson = new Lesson();
  lesson.promptTokens = 10_000;
  lesson.cachedTokens = 0;
  lesson.ttftSeconds = 1.03;
  return lesson;
}

describe("prices learned from answers", () => {
  it("settle where two fifths of the samples lie below", () => {
    const learned = new Learned();
    learned.uncachedSeconds = 5e-4;
    const lesson = coldLesson();
    for (let i = 0; i < 2_000; i++) {
      // speeds spread evenly over 100 to 200 us
      lesson.ttftSeconds = 0.03 + 1.0 + <f64>((i * 7) % 10) / 10;
      learnPrices(learned, lesson, 0.5);
    }
    expect(learned.uncachedSeconds).toBeGreaterThan(1.25e-4);
    expect(learned.uncachedSeconds).toBeLessThan(1.6e-4);
  });

  it("count the queue in front of the request", () => {
    const learned = new Learned();
    const lesson = coldLesson();
    lesson.queuedTokens = 90_000;
    lesson.ttftSeconds = 10.04;
    learnPrices(learned, lesson, 0.5);
    expect(learned.uncachedSeconds).toBe(1e-4 * 1.02);
    lesson.ttftSeconds = 10.02;
    learned.uncachedSeconds = 1e-4;
    learnPrices(learned, lesson, 0.5);
    expect(learned.uncachedSeconds).toBe(1e-4 * 0.97);
  });

  it("learn the fetch price where most came from a tier, and the tier's share", () => {
    const learned = new Learned();
    const lesson = coldLesson();
    lesson.promptTokens = 50_000;
    lesson.cachedTokens = 49_000;
    lesson.seenTokens = 49_000;
    lesson.known = true;
    // w1 * 1,000 = 0.1 s, the rest over 49,000 fetched tokens is 50 us: above 30 us
    lesson.ttftSeconds = 0.03 + 0.1 + 2.45;
    learnPrices(learned, lesson, 0.5);
    expect(learned.fetchedSeconds).toBe(3e-5 * 1.02);
    expect(learned.uncachedSeconds).toBe(1e-4);
    expect(learned.returnedShare).toBe(0.5 + 0.1 * 0.5);
  });

  it("never learn a tier's share from sessions that this gateway had not seen", () => {
    const learned = new Learned();
    const lesson = coldLesson();
    lesson.seenTokens = 9_000;
    learnPrices(learned, lesson, 0.5);
    expect(learned.returnedShare).toBe(0.5);
    lesson.known = true;
    learnPrices(learned, lesson, 0.5);
    expect(learned.returnedShare).toBe(0.45);
  });

  it("take a cached head for local, not for a tier's", () => {
    const learned = new Learned();
    const lesson = coldLesson();
    lesson.promptTokens = 20_000;
    lesson.headTokens = 14_000;
    lesson.cachedTokens = 14_000;
    lesson.ttftSeconds = 0.03 + 0.5;
    learnPrices(learned, lesson, 0.5);
    expect(learned.fetchedSeconds).toBe(3e-5);
    expect(learned.uncachedSeconds).toBe(1e-4 * 0.97);
    lesson.known = true;
    lesson.seenTokens = 19_000;
    learnPrices(learned, lesson, 0.5);
    expect(learned.returnedShare).toBe(0.45);
  });

  it("fall back on the belief where answers do not tell cached tokens", () => {
    const learned = new Learned();
    const lesson = coldLesson();
    lesson.cachedTokens = UNKNOWN;
    lesson.heldTokens = 8_000;
    lesson.seenTokens = 8_000;
    lesson.known = true;
    lesson.ttftSeconds = 0.03 + 0.1;
    learnPrices(learned, lesson, 0.5);
    expect(learned.uncachedSeconds).toBe(1e-4 * 0.97);
    expect(learned.returnedShare).toBe(0.5);
    expect(isEvicted(lesson)).toBe(false);
  });

  it("assume a complete tier after 32 answers that never told cached tokens", () => {
    const learned = new Learned();
    const lesson = coldLesson();
    lesson.cachedTokens = UNKNOWN;
    for (let i = 0; i < 31; i++) learnPrices(learned, lesson, 0.5);
    expect(returnedShare(Tier.Auto, learned)).toBe(0.5);
    learnPrices(learned, lesson, 0.5);
    expect(returnedShare(Tier.Auto, learned)).toBe(1);
    expect(returnedShare(Tier.None, learned)).toBe(0);
    lesson.cachedTokens = 16;
    learnPrices(learned, lesson, 0.5);
    expect(returnedShare(Tier.Auto, learned)).toBe(0.5);
  });

  it("tolerate a belief that is wrong by 2,048 tokens", () => {
    const lesson = coldLesson();
    lesson.heldTokens = 2_049;
    expect(isEvicted(lesson)).toBe(true);
    lesson.heldTokens = 2_048;
    expect(isEvicted(lesson)).toBe(false);
    lesson.heldTokens = 9_000;
    lesson.cachedTokens = UNKNOWN;
    expect(isEvicted(lesson)).toBe(false);
  });

  it("compare reports with beliefs in one unit, whatever the tokenizer", () => {
    const learned = new Learned();
    const lesson = coldLesson();
    // the estimate is 10 % high: a full hit of 90,000 stands for 99,000 of a belief
    lesson.promptTokens = 91_000;
    lesson.estimatedTokens = 100_100;
    lesson.cachedTokens = 90_000;
    lesson.heldTokens = 100_000;
    expect(isEvicted(lesson)).toBe(false);
    lesson.cachedTokens = 80_000;
    expect(isEvicted(lesson)).toBe(true);
    lesson.cachedTokens = 0;
    lesson.ttftSeconds = 0.03 + 100_100 * 1e-4 * 1.0001;
    learnPrices(learned, lesson, 0.5);
    expect(learned.uncachedSeconds).toBe(1e-4 * 1.02);
  });

  it("keep fading means of decode price and answer length", () => {
    const learned = new Learned();
    const lesson = coldLesson();
    lesson.tpotSeconds = 0.02;
    lesson.decodedContextTokens = 400_000;
    lesson.outputTokens = 600;
    learnPrices(learned, lesson, 0.5);
    expect(learned.tpotSum).toBeCloseTo(0.995 * 0.006 + 0.02);
    expect(learned.decodedContextSum).toBe(0.995 * 200_000 + 400_000);
    expect(learned.outputTokens).toBe(401);
  });

  it("stay within bounds whatever answers claim", () => {
    const learned = new Learned();
    const lesson = coldLesson();
    lesson.ttftSeconds = 0;
    for (let i = 0; i < 2_000; i++) learnPrices(learned, lesson, 0.5);
    expect(learned.uncachedSeconds).toBe(1e-7);
    lesson.ttftSeconds = 1e9;
    lesson.cachedTokens = 1e12;
    lesson.queuedTokens = 1000;
    for (let i = 0; i < 2_000; i++) learnPrices(learned, lesson, 0.5);
    expect(learned.fetchedSeconds).toBe(0.1);
  });
});
