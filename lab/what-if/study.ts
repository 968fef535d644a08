// SPDX-License-Identifier: Apache-2.0
// The comparison behind an answer: today's balancing and the filter at several loads, each with several seeds.
import type { FleetPlan, ReplayPlan } from "../replay/drivers/driver.ts";
import type { Measures } from "../replay/measures/measures.ts";
import { type ArmReport, armReport } from "../replay/report/report.ts";
import type { Log } from "./log.ts";
import { planOf } from "./plan.ts";

/** One way of balancing. */
export interface Arm {
  /** As tables show it. */
  name: string;
  /** As the replay knows it. */
  policy: string;
  /** Fields of the filter's configuration beside its policy. */
  configuration: object;
}

/** What a replay of one plan came to. */
export interface Played {
  measures: Measures;
  /** Time from start to end of each session that was replayed whole, by its id. */
  jobMs: ReadonlyMap<string, number>;
}

/** Replays a plan. */
export type Play = (arm: Arm, plan: ReplayPlan) => Promise<Played>;

export interface StudyOptions {
  fleet: FleetPlan;
  /** Ascending; 1 is the load of the log. */
  loads: readonly number[];
  seeds: readonly number[];
  now: Arm;
  ours: Arm;
}

/** Sessions that both arms finished: a mean over all would compare different ones. */
export interface SameJobs {
  jobs: number;
  now_s: number;
  ours_s: number;
}

export interface LoadPoint {
  load: number;
  now: ArmReport;
  ours: ArmReport;
  same_jobs: SameJobs;
}

/** Users notice from there on: a fifth off the slowest answers, or a twentieth more tokens in time. */
const NOTICED_TTFT = 0.8;
/** Nobody notices less, whatever its share. */
const NOTICED_MS = 100;
const NOTICED_TOKENS = 1.05;

function reportOf(arm: Arm, played: readonly Played[]): ArmReport {
  return { ...armReport(played.map(({ measures }) => measures)), policy: arm.name };
}

/** Mean times of the sessions that both have finished, over all seeds. */
export function sameJobs(now: readonly Played[], ours: readonly Played[]): SameJobs {
  let [jobs, nowMs, oursMs] = [0, 0, 0];
  ours.forEach(({ jobMs }, index) => {
    for (const [session, ms] of jobMs) {
      const otherMs = now[index]!.jobMs.get(session);
      if (otherMs === undefined) continue;
      jobs++;
      nowMs += otherMs;
      oursMs += ms;
    }
  });
  return { jobs, now_s: nowMs / jobs / 1000, ours_s: oursMs / jobs / 1000 };
}

/** Plays everything, load by load. */
export async function runStudy(log: Log, options: StudyOptions, play: Play): Promise<LoadPoint[]> {
  const { fleet, now, ours } = options;
  const points: LoadPoint[] = [];
  for (const load of options.loads) {
    const played: { now: Played[]; ours: Played[] } = { now: [], ours: [] };
    for (const seed of options.seeds) {
      const plan = planOf(log, { fleet, load, seed });
      played.now.push(await play(now, plan));
      played.ours.push(await play(ours, plan));
    }
    points.push({
      load,
      now: reportOf(now, played.now),
      ours: reportOf(ours, played.ours),
      same_jobs: sameJobs(played.now, played.ours),
    });
  }
  return points;
}

/** Measures of every seed. */
export function seedsOf(arm: ArmReport): readonly Measures[] {
  return arm.by_seed ?? [arm];
}

/** Whether users would notice at this load, seed by seed. */
export function noticed({ now, ours }: LoadPoint): boolean[] {
  const others = seedsOf(now);
  return seedsOf(ours).map((mine, index) => {
    const other = others[index]!;
    const soonerMs = other.ttft_ms.p99 - mine.ttft_ms.p99;
    const sooner = mine.ttft_ms.p99 <= NOTICED_TTFT * other.ttft_ms.p99 && soonerMs >= NOTICED_MS;
    return sooner || mine.tps_slo >= NOTICED_TOKENS * other.tps_slo;
  });
}

/** The least load from which on users would notice with every seed, at all loads that were tried; null for none. */
export function mattersFrom(points: readonly LoadPoint[]): number | null {
  let from: number | null = null;
  for (const point of [...points].reverse()) {
    if (!noticed(point).every(Boolean)) break;
    from = point.load;
  }
  return from;
}
