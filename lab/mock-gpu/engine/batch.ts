// SPDX-License-Identifier: Apache-2.0
// The sequences of one step, and what they make the GPU compute.
import { type EngineRequest } from "./request.ts";
import { type StepWork } from "./step-cost.ts";

export interface Batch {
  requests: EngineRequest[];
}

/** Prefill and decode of a batch; ask when its tokens are scheduled and before they are computed. */
export function workOf(batch: Batch): StepWork {
  const work = { prefillTokens: 0, prefillPairs: 0, decodeSequences: 0, decodeContextTokens: 0 };
  for (const request of batch.requests) addWork(work, request);
  return work;
}

function addWork(work: StepWork, request: EngineRequest): void {
  const tokens = request.scheduled;
  const context = request.computed + tokens;
  if (tokens === 1 && request.generated > 0 && context === request.length) {
    work.decodeSequences++;
    work.decodeContextTokens += context;
    return;
  }
  work.prefillTokens += tokens;
  work.prefillPairs += tokens * (context - tokens / 2);
}
