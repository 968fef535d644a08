// SPDX-License-Identifier: Apache-2.0
// What answers have taught about one model's fleet: speeds, and what a global tier returns. Plain data.

/** Prompts shorter than this say nothing of their text. */
const LEAST_TOKENS: u32 = 256;
/** Beyond these a reported length is no token count of this prompt (media, another unit). */
const FEWEST_BYTES: f64 = 0.25;
const MOST_BYTES: f64 = 16;
const RATIO_RATE: f64 = 0.05;

/** Estimates are off by less than this, whatever the language and the tokenizer. */
const MOST_SCALE: f64 = 32;

/** Times in seconds, lengths in tokens. One record per model, shared by all workers. */
export class Learned {
  /** w1: seconds of prefill per uncached token. */
  uncachedSeconds: f64 = 1e-4;
  /** w2: seconds per token fetched from a global tier. */
  fetchedSeconds: f64 = 3e-5;
  /** G: share of a prefix missing at the endpoint that a global tier returned, 0..1. */
  returnedShare: f64 = 0.5;
  /**
   * Fading sums of TPOT and of the context tokens decoded beside it; their ratio is the decode price. They
   * start as one observation of 6 ms beside 200,000 tokens (3e-8 s per token).
   */
  tpotSum: f64 = 0.006;
  decodedContextSum: f64 = 200_000;
  /** Mean seconds per output token. */
  tpotSeconds: f64 = 0.02;
  /** om: mean tokens of an answer. */
  outputTokens: f64 = 400;
  /** Bytes of prompt text per token, as answers reported their prompt tokens. */
  bytesPerToken: f64 = 4;
  /** Reported prompt tokens per estimated one: what estimates are multiplied by. */
  tokenScale: f64 = 1;
  /** Answers that told their cached tokens, and answers in a row that did not. */
  reports: f64 = 0;
  silent: f64 = 0;

  copyFrom(other: Learned): void {
    this.uncachedSeconds = other.uncachedSeconds;
    this.fetchedSeconds = other.fetchedSeconds;
    this.returnedShare = other.returnedShare;
    this.tpotSum = other.tpotSum;
    this.decodedContextSum = other.decodedContextSum;
    this.tpotSeconds = other.tpotSeconds;
    this.outputTokens = other.outputTokens;
    this.bytesPerToken = other.bytesPerToken;
    this.tokenScale = other.tokenScale;
    this.reports = other.reports;
    this.silent = other.silent;
  }

  /** Takes one reported prompt length into account; short prompts are mostly template. */
  noteLength(promptBytes: u32, promptTokens: u32): void {
    if (promptTokens < LEAST_TOKENS || promptBytes == 0) return;
    const ratio = <f64>promptBytes / <f64>promptTokens;
    if (ratio < FEWEST_BYTES || ratio > MOST_BYTES) return;
    this.bytesPerToken += RATIO_RATE * (ratio - this.bytesPerToken);
  }

  /** Takes one reported prompt length into account; the estimate is the one before any scale. */
  noteEstimate(estimatedTokens: f64, promptTokens: f64): void {
    if (promptTokens < <f64>LEAST_TOKENS || estimatedTokens <= 0) return;
    const scale = promptTokens / estimatedTokens;
    if (scale < 1 / MOST_SCALE || scale > MOST_SCALE) return;
    const rate = this.tokenScale == 1 ? 1 : RATIO_RATE;
    this.tokenScale += rate * (scale - this.tokenScale);
  }

  /** False where a number is none: the record was damaged. All fields are f64. */
  isSound(): bool {
    for (let at: usize = 0; at < offsetof<Learned>(); at += 8) {
      if (!isFinite(load<f64>(changetype<usize>(this) + at))) return false;
    }
    return this.decodedContextSum > 0;
  }
}
