// SPDX-License-Identifier: Apache-2.0
// What an engine has done since it started, in tokens and milliseconds.

export interface EngineCounters {
  submitted: number;
  done: number;
  aborted: number;
  /** Prompt and output tokens of requests that are done. */
  promptTokens: number;
  outputTokens: number;
  /** Prompt tokens looked up, found here, and fetched from tiers or other engines, at first admissions. */
  queriedTokens: number;
  hitTokens: number;
  fetchedTokens: number;
  /** Tokens run through the model: for the first time, and again after a preemption. */
  computedTokens: number;
  recomputedTokens: number;
  preemptions: number;
  steps: number;
  busyMs: number;
}

export function newCounters(): EngineCounters {
  return {
    submitted: 0,
    done: 0,
    aborted: 0,
    promptTokens: 0,
    outputTokens: 0,
    queriedTokens: 0,
    hitTokens: 0,
    fetchedTokens: 0,
    computedTokens: 0,
    recomputedTokens: 0,
    preemptions: 0,
    steps: 0,
    busyMs: 0,
  };
}
