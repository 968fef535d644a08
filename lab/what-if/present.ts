// SPDX-License-Identifier: Apache-2.0
// Guesses from a log how its fleet is balanced today: who served the next turn, and the next request.
import type { Observed } from "./observed.ts";
import { percent } from "./words.ts";

export interface Present {
  /** An arm of the replay. */
  arm: string;
  /** Why it is taken for the present, in words. */
  because: string;
  /** Other arms that the log may as well have come from: replays decide. */
  or?: readonly string[];
}

/** With fewer follow-ups or endpoints anything looks like everything. */
const MIN_FOLLOW_UPS = 20;
/** Follow-ups that go where the turn before went, of a balancer that sticks. */
const STICKY_SHARE = 0.9;
/** How far from chance to certainty it is that n requests in a row reach n endpoints, of a balancer that goes round. */
const ROUND_SHARE = 0.4;

/** The balancing that is assumed where a log does not name endpoints. */
const ASSUMED: Present = {
  arm: "least-request",
  because: "assumed: the log does not name the endpoints",
};

/** Share of windows of n requests in a row that reach n different endpoints. */
function roundShare(endpoints: readonly string[], count: number): number {
  let [windows, full] = [0, 0];
  for (let from = 0; from + count <= endpoints.length; from++) {
    windows++;
    if (new Set(endpoints.slice(from, from + count)).size === count) full++;
  }
  return windows === 0 ? 0 : full / windows;
}

/** The same share where each request went to an endpoint by chance: n! / n^n. */
function roundByChance(count: number): number {
  let share = 1;
  for (let k = 1; k <= count; k++) share *= k / count;
  return share;
}

/** The arm that explains best who served whom. */
export function guessPresent({ calls }: Observed): Present {
  const named = calls.filter(({ row }) => row.served.endpoint !== null);
  const endpoints = named.map(({ row }) => row.served.endpoint!);
  const count = new Set(endpoints).size;
  const followUps = named.filter(
    ({ before }) => before !== null && before.served.endpoint !== null,
  );
  if (count < 2 || followUps.length < MIN_FOLLOW_UPS) return ASSUMED;
  const pinned = named.filter(({ row }) => row.served.pinned).length / named.length;
  const stayed = followUps.filter(
    ({ row, before }) => before?.served.endpoint === row.served.endpoint,
  );
  const share = stayed.length / followUps.length;
  const said = `${percent(share)} of the follow-ups went where the turn before was served`;
  if (pinned > 0) {
    return { arm: "priced", because: `the filter routes already; ${said}` };
  }
  if (share >= STICKY_SHARE) return { arm: "session-hash", because: `guessed: ${said}` };
  const round = roundShare(endpoints, count);
  const chance = roundByChance(count);
  if (round >= chance + ROUND_SHARE * (1 - chance)) {
    const rounds = `${percent(round)} of ${count} requests in a row reached ${count} endpoints`;
    return { arm: "round-robin", because: `guessed: ${rounds}` };
  }
  return { arm: "least-request", because: `guessed: ${said}`, or: ["p2c"] };
}
