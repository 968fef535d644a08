// SPDX-License-Identifier: Apache-2.0
// When sessions start: as a Poisson process, or as a population of constant size that begins mid-way.
import type { Arrival } from "./drivers/driver.ts";
import { type Chance, chance } from "./workloads/random.ts";
import type { Session } from "./workloads/session.ts";

/** Sessions that start one after the other with exponential gaps. */
export function poissonArrivals(
  sessions: readonly Session[],
  meanGapMs: number,
  seed: number,
): Arrival[] {
  const draws = chance(seed, "arrivals");
  let startMs = 0;
  return sessions.map((session) => {
    startMs += draws.exponential(meanGapMs);
    return { session, startMs, firstCall: 0 };
  });
}

/** A call in the middle of a session, uniformly drawn. */
function midway(session: Session, draws: Chance): number {
  return draws.below(session.calls.length);
}

/** A population as it is found at some moment: every session somewhere in its life, its next call soon. */
export function populationArrivals(
  sessions: readonly Session[],
  spreadMs: number,
  seed: number,
): Arrival[] {
  const draws = chance(seed, "population");
  return sessions.map((session) => ({
    session,
    startMs: draws.uniform() * spreadMs,
    firstCall: midway(session, draws),
  }));
}
