// SPDX-License-Identifier: Apache-2.0
// The figures of the admission study: means over seeds of what its tables and sentences are written from.
import { mean } from "simple-statistics";
import { APPS, HEAD_TOKENS } from "../../replay/workloads/named.ts";
import type { Results, RunMeasures, RunSpec } from "../study.ts";
import {
  type ClosedCell,
  closedSpec,
  ENDPOINTS,
  MILLION,
  type OpenCell,
  openSeeds,
  openSpec,
  type Scenario,
  scenarioSpec,
  SEEDS,
  type Way,
  WINDOWS,
} from "./regimes.ts";

/** Almost all is found that any cache could: everything fits. */
function findsAll(hitRate: number, possible: number): boolean {
  return hitRate > 0.97 * possible;
}

/** One arm of a closed cell, means over seeds. */
export interface ClosedArm {
  tps: number;
  /** The lowest and the highest seed. */
  range: [number, number];
  hit: number;
  /** Share of the prompt tokens that an endless cache would have found. */
  possible: number;
  ttftS: [p50: number, p99: number];
  holdS: [mean: number, longest: number];
}

export interface ClosedRow extends ClosedCell {
  /** Tokens that the sessions' contexts take together, over those that the fleet holds. */
  asked: number;
  /** Without admission almost all is found that can be: nothing is gained by waiting. */
  fits: boolean;
  off: ClosedArm;
  learned: ClosedArm;
  /** The best of the fixed windows, or no admission where that is better; `window` is the share. */
  best: ClosedArm;
  window: number;
  /** With the filter's own hold limit, and the searching baseline: one seed. */
  limitedTps: number;
  aimdTps: number;
  /** Tokens/s of `learned` over those of the best of fixed windows and none, and over none. */
  toBest: number;
  toOff: number;
  /** With the same one seed as theirs. */
  limitedToOff: number;
  aimdToBest: number;
}

function all(specs: readonly RunSpec[], done: Results): RunMeasures[] | undefined {
  const found = specs.map((spec) => done.get(spec));
  return found.every((each) => each !== undefined) ? found : undefined;
}

/** Prompt tokens of a mean request stand for a session's context; shared heads take room once an endpoint. */
function askedOf({ sessions, millions, heads }: ClosedCell, runs: readonly RunMeasures[]): number {
  const context = mean(runs.map((run) => run.prompt_tokens / run.requests));
  const isShared = heads === "shared";
  const own = sessions * (isShared ? context - HEAD_TOKENS : context);
  const shared = isShared ? ENDPOINTS * APPS * HEAD_TOKENS : 0;
  return (own + shared) / (ENDPOINTS * millions * MILLION);
}

function closedArm(
  cell: ClosedCell,
  way: Way,
  seeds: readonly number[],
  done: Results,
): ClosedArm | undefined {
  const runs = all(
    seeds.map((seed) => closedSpec(cell, way, seed)),
    done,
  );
  if (runs === undefined) return undefined;
  const of = (value: (run: RunMeasures) => number): number => mean(runs.map(value));
  const tps = runs.map((run) => run.tps);
  return {
    tps: mean(tps),
    range: [Math.min(...tps), Math.max(...tps)],
    hit: of((run) => run.hit_rate),
    possible: of((run) => run.hit_possible),
    ttftS: [of((run) => run.ttft_ms.p50 / 1000), of((run) => run.ttft_ms.p99 / 1000)],
    holdS: [of((run) => run.hold_s.mean), Math.max(...runs.map((run) => run.hold_longest_s))],
  };
}

/** The share of the capacity whose window is the best with the first seed; undefined while it is not known. */
function bestWindow(cell: ClosedCell, first: number, done: Results): number | undefined {
  const specs = WINDOWS.map((share) => closedSpec(cell, `fixed:${share}`, first));
  const runs = all(specs, done);
  if (runs === undefined) return undefined;
  const most = Math.max(...runs.map((run) => run.tps));
  return WINDOWS[runs.findIndex((run) => run.tps === most)];
}

/** A closed cell; with all but the best window's other seeds missing, the row holds what the first one says. */
export function closedRow(
  cell: ClosedCell,
  seeds: readonly number[],
  done: Results,
): ClosedRow | undefined {
  const first = seeds[0]!;
  const window = bestWindow(cell, first, done);
  const off = closedArm(cell, "off", seeds, done);
  const learned = closedArm(cell, "learned", seeds, done);
  const limited = done.get(closedSpec(cell, "limited", first));
  const aimd = done.get(closedSpec(cell, "aimd", first));
  if (window === undefined || off === undefined || learned === undefined) return undefined;
  if (limited === undefined || aimd === undefined) return undefined;
  const way: Way = `fixed:${window}`;
  const fixed = closedArm(cell, way, seeds, done) ?? closedArm(cell, way, [first], done)!;
  const firstOf = (of: Way): number => done.get(closedSpec(cell, of, first))!.tps;
  const best = fixed.tps > off.tps ? fixed : off;
  const offRuns = seeds.map((seed) => done.get(closedSpec(cell, "off", seed))!);
  return {
    ...cell,
    ...{
      asked: askedOf(cell, offRuns),
      fits: findsAll(off.hit, off.possible),
      off,
      learned,
      best,
      window,
    },
    limitedTps: limited.tps,
    aimdTps: aimd.tps,
    toBest: learned.tps / best.tps,
    toOff: learned.tps / off.tps,
    limitedToOff: limited.tps / firstOf("off"),
    aimdToBest: aimd.tps / Math.max(firstOf(way), firstOf("off")),
  };
}

/** One arm of an open cell, means over its seeds. */
export interface OpenArm {
  jctS: { mean: number; p50: number; p95: number; p99: number };
  unfinished: number;
  hit: number;
  holdS: [mean: number, longest: number];
}

export interface OpenRow extends OpenCell {
  off: OpenArm;
  learned: OpenArm;
  oldest: OpenArm;
  /** Mean job time with the oldest session first over that without admission, by the first seeds alone. */
  firstOldestToOff: number;
}

function openArm(
  cell: OpenCell,
  way: Way,
  seeds: readonly number[],
  done: Results,
): OpenArm | undefined {
  const runs = all(
    seeds.map((seed) => openSpec(cell, way, seed)),
    done,
  );
  if (runs === undefined) return undefined;
  const of = (value: (run: RunMeasures) => number): number => mean(runs.map(value));
  return {
    jctS: {
      mean: of((run) => run.jct_s.mean),
      p50: of((run) => run.jct_s.p50),
      p95: of((run) => run.jct_s.p95),
      p99: of((run) => run.jct_s.p99),
    },
    unfinished: of((run) => run.unfinished_jobs),
    hit: of((run) => run.hit_rate),
    holdS: [of((run) => run.hold_s.mean), Math.max(...runs.map((run) => run.hold_longest_s))],
  };
}

export function openRow(cell: OpenCell, done: Results): OpenRow | undefined {
  const seeds = openSeeds(cell);
  const off = openArm(cell, "off", seeds, done);
  const learned = openArm(cell, "learned", seeds, done);
  const oldest = openArm(cell, "oldest", seeds, done);
  if (off === undefined || learned === undefined || oldest === undefined) return undefined;
  const firstMean = (way: Way): number => openArm(cell, way, SEEDS, done)!.jctS.mean;
  const firstOldestToOff = firstMean("oldest") / firstMean("off");
  return { ...cell, off, learned, oldest, firstOldestToOff };
}

export interface ScenarioRow extends ClosedCell {
  name: string;
  /** See `ClosedRow`; without what changes meanwhile. */
  asked: number;
  fits: boolean;
  offTps: number;
  learnedTps: number;
  offHit: number;
  learnedHit: number;
  longestHoldS: number;
}

export function scenarioRow(scenario: Scenario, done: Results): ScenarioRow | undefined {
  const { name, sessions, millions, heads } = scenario;
  const off = done.get(scenarioSpec(scenario, "off"));
  const learned = done.get(scenarioSpec(scenario, "learned"));
  if (off === undefined || learned === undefined) return undefined;
  return {
    ...{ name, sessions, millions, heads },
    asked: askedOf(scenario, [off]),
    fits: findsAll(off.hit_rate, off.hit_possible),
    offTps: off.tps,
    learnedTps: learned.tps,
    offHit: off.hit_rate,
    learnedHit: learned.hit_rate,
    longestHoldS: learned.hold_longest_s,
  };
}
