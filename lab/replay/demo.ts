// SPDX-License-Identifier: Apache-2.0
// The plan behind `npm start`: agents of four applications on four GPUs, small enough for two cores.
import { poissonArrivals } from "./arrivals.ts";
import type { ReplayPlan } from "./drivers/driver.ts";
import { airlineSource } from "./workloads/airline.ts";
import { madeUpApps } from "./workloads/apps.ts";
import { codingSource } from "./workloads/coding-agent.ts";
import { chance, shuffled } from "./workloads/random.ts";
import { takeSessions } from "./workloads/session.ts";

export interface DemoOptions {
  endpoints: number;
  sessions: number;
  seed: number;
  /** Time in which the sessions start, and end of the replay. */
  arrivalsWithinMs?: number;
  limitMs?: number;
}

/** Simulated seconds per real second: an agent's quarter of an hour in a minute. */
export const DEMO_SPEEDUP = 12;

const AIRLINE_SHARE = 0.2;
const CODING_APPS = 3;
/** The trace's sessions at about a third of their size: 20 to 200 KB a call instead of up to 800. */
const TOKEN_SCALE = 0.3;
const HEAD_TOKENS = 4_500;
const CONTEXT_CAP_TOKENS = 45_000;
const CALL_CAP = 20;
const GAP_CAP_MS = 30_000;
/** Room for the contexts of an endpoint's share of the sessions and half as much again, not for all sessions. */
const KV_TOKENS_PER_SESSION = 22_000;
/** However few sessions there are, an endpoint has room for that many of the longest contexts: an engine refuses others. */
const LEAST_CONTEXTS = 2;
const ARRIVALS_WITHIN_MS = 120_000;
const LIMIT_MS = 600_000;

/** Equal for every arm. */
export function demoPlan(options: DemoOptions): ReplayPlan {
  const { endpoints, sessions, seed } = options;
  const { arrivalsWithinMs = ARRIVALS_WITHIN_MS, limitMs = LIMIT_MS } = options;
  const airline = airlineSource({ seed, gapCapMs: GAP_CAP_MS });
  const airlines = Math.round(sessions * AIRLINE_SHARE);
  const coding = codingSource({
    seed,
    starts: "genuine",
    apps: madeUpApps(CODING_APPS, HEAD_TOKENS),
    tokenScale: TOKEN_SCALE,
    contextCapTokens: CONTEXT_CAP_TOKENS,
    callCap: CALL_CAP,
    gapCapMs: GAP_CAP_MS,
    weightExponent: 0,
  });
  const all = shuffled(
    [...takeSessions(airline, airlines), ...takeSessions(coding, sessions - airlines)],
    chance(seed, "demo"),
  );
  return {
    fleet: {
      endpoints,
      decodeEndpoints: 0,
      preset: "70b-tp4-h100",
      kvTokens: Math.max(
        Math.round((sessions / endpoints) * KV_TOKENS_PER_SESSION),
        LEAST_CONTEXTS * CONTEXT_CAP_TOKENS,
      ),
      blockTokens: 16,
      globalTokens: 0,
      globalGbps: 0,
    },
    arrivals: poissonArrivals(all, arrivalsWithinMs / all.length, seed),
    refill: null,
    seed,
    limitMs,
    warmupMs: 0,
  };
}
