// SPDX-License-Identifier: Apache-2.0
// A baseline: one pure choice over what a proxy knows, and the gateway that keeps that knowledge.
import type { Gateway, Passage, ReportedUsage, UNTOLD } from "../drivers/virtual/gateway.ts";
import type { Chance } from "../workloads/random.ts";
import { Knowledge } from "./knowledge.ts";

/** Chooses an endpoint. */
export type Baseline = (passage: Passage, known: Knowledge, draws: Chance) => number;

/** Index of the smallest value; ties at random. */
export function leastOf(count: number, value: (index: number) => number, draws: Chance): number {
  let best = 0;
  let least = Infinity;
  let ties = 0;
  for (let i = 0; i < count; i++) {
    const candidate = value(i);
    if (candidate < least) {
      best = i;
      least = candidate;
      ties = 1;
    } else if (candidate === least && draws.below(++ties) === 0) {
      best = i;
    }
  }
  return best;
}

/** The endpoint with the fewest requests in flight. */
export function leastInFlight(known: Knowledge, draws: Chance): number {
  return leastOf(known.endpoints, (i) => known.inFlight[i]!, draws);
}

/** Runs a baseline as a gateway in virtual time. */
export class BaselineGateway implements Gateway {
  private readonly known: Knowledge;

  constructor(
    private readonly choose: Baseline,
    endpoints: number,
    private readonly draws: Chance,
  ) {
    this.known = new Knowledge(endpoints);
  }

  place(passage: Passage, _nowMs: number, placed: () => void): void {
    passage.endpoint = this.choose(passage, this.known, this.draws);
    this.known.took(passage);
    placed();
  }

  firstToken(passage: Passage): void {
    this.known.firstToken(passage);
  }

  ended(passage: Passage, usage: ReportedUsage | typeof UNTOLD | null): void {
    this.known.ended(passage, usage !== null);
  }

  nextMs(): number {
    return Infinity;
  }

  advance(): void {}

  close(): void {}
}
