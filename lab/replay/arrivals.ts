// SPDX-License-Identifier: Apache-2.0
// When sessions start: as a Poisson process, or as a population of constant size; both can begin mid-way.
import type { Arrival } from "./drivers/driver.ts";
import { chance } from "./workloads/random.ts";
import { type Session, type SessionSource, takeSessions } from "./workloads/session.ts";

/** What a call takes about, beside its gap, where a life has to be guessed before it is replayed. */
const CALL_MS = 6_000;
/** A population that begins mid-way resumes over this time, so that not all arrive at once. */
const SPREAD_MS = 60_000;
/** How far back an open process is followed to find the sessions that are under way at its start. */
const PAST_MS = 3_600_000;

/** Sessions that start one after the other with exponential gaps, from the beginning on. */
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

/** A population as it is found at some moment: every session somewhere in its life, its next call soon. */
export function populationArrivals(source: SessionSource, count: number, seed: number): Arrival[] {
  const draws = chance(seed, "population");
  return takeSessions(source, count).map((session) => ({
    session,
    startMs: draws.uniform() * SPREAD_MS,
    firstCall: draws.below(session.calls.length),
  }));
}

/** An open process in its stride: sessions that began before time 0 and still run, then new ones to `untilMs`. */
export function openArrivals(
  source: SessionSource,
  ratePerS: number,
  untilMs: number,
  seed: number,
): Arrival[] {
  const draws = chance(seed, "arrivals");
  const arrivals: Arrival[] = [];
  let index = 0;
  for (let startMs = -PAST_MS; ;) {
    startMs += draws.exponential(1000 / ratePerS);
    if (startMs > untilMs) return arrivals;
    const arrival = resume(source.at(index++), startMs);
    if (arrival !== null) arrivals.push(arrival);
  }
}

/** The first call of a session that falls into the replayed time, null when its life is over before. */
function resume(session: Session, startMs: number): Arrival | null {
  let atMs = startMs;
  for (let call = 0; call < session.calls.length; call++) {
    if (call > 0) atMs += CALL_MS + session.calls[call]!.gapMs;
    if (atMs >= 0) return { session, startMs: atMs, firstCall: call };
  }
  return null;
}
