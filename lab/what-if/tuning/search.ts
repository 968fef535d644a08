// SPDX-License-Identifier: Apache-2.0
// Searches on every other session, and says of the rest what the best found there is worth.
import type { FleetPlan } from "../../replay/drivers/driver.ts";
import type { Log } from "../log.ts";
import { planOf } from "../plan.ts";
import type { Play, Played } from "../study.ts";
import { armFor, type Configuration, DEFAULT } from "./candidates.ts";
import { type Gain, gainOver, type Objective } from "./objective.ts";

export interface SearchOptions {
  fleet: FleetPlan;
  load: number;
  seeds: readonly number[];
  objective: Objective;
}

/** A configuration and what it gained where it was tried. */
export interface Trial {
  configuration: Configuration;
  /** On the sessions of the search, with one seed. */
  first: Gain;
  /** The same with all seeds; null where it was not among the best. */
  search: Gain | null;
}

export interface SearchResult {
  /** Best first. */
  trials: Trial[];
  best: Configuration;
  /** Of the best, on sessions that the search did not see; null where the default was best. */
  reported: Gain | null;
}

/** As many go on to all seeds. */
const FINALISTS = 3;
/** Less is not worth a configuration. */
const WORTH = 0.01;

/** Plays configurations on one half of a log's sessions, each plan once. */
class HalfPlayer {
  private readonly played = new Map<string, Promise<Played>>();

  constructor(
    private readonly log: Log,
    private readonly half: "even" | "odd",
    private readonly options: SearchOptions,
    private readonly play: Play,
  ) {}

  async gain(configuration: Configuration, seeds: readonly number[]): Promise<Gain> {
    const mine: Played[] = [];
    const reference: Played[] = [];
    for (const seed of seeds) {
      reference.push(await this.run(DEFAULT, seed));
      mine.push(await this.run(configuration, seed));
    }
    return gainOver(this.options.objective, mine, reference);
  }

  private run(configuration: Configuration, seed: number): Promise<Played> {
    const { fleet, load } = this.options;
    const arm = armFor(configuration);
    const key = `${arm.name}/${seed}`;
    let run = this.played.get(key);
    if (run === undefined) {
      run = this.play(arm, planOf(this.log, { fleet, load, seed, half: this.half }));
      this.played.set(key, run);
    }
    return run;
  }
}

/** A gain that every seed shows, and that is worth something. */
export function isGain(gain: Gain): boolean {
  return gain.mean >= WORTH && gain.least > 0;
}

/**
 * All configurations with one seed, the best few with all of them, and the best of these on the other half.
 * @param tried without the default, against which all are measured
 */
export async function search(
  log: Log,
  tried: readonly Configuration[],
  options: SearchOptions,
  play: Play,
): Promise<SearchResult> {
  const even = new HalfPlayer(log, "even", options, play);
  const trials: Trial[] = [];
  for (const configuration of tried) {
    const first = await even.gain(configuration, options.seeds.slice(0, 1));
    trials.push({ configuration, first, search: null });
  }
  trials.sort((a, b) => b.first.mean - a.first.mean);
  for (const trial of trials.slice(0, FINALISTS)) {
    trial.search = await even.gain(trial.configuration, options.seeds);
  }
  trials.sort((a, b) => (b.search?.mean ?? -Infinity) - (a.search?.mean ?? -Infinity));
  const best = trials[0];
  if (best === undefined || best.search === null || !isGain(best.search)) {
    return { trials, best: DEFAULT, reported: null };
  }
  const odd = new HalfPlayer(log, "odd", options, play);
  const reported = await odd.gain(best.configuration, options.seeds);
  return { trials, best: best.configuration, reported };
}
