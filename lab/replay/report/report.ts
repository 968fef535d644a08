// SPDX-License-Identifier: Apache-2.0
// What a replay hands out: configuration, measures of every arm, and the sentences that go with them.
import type { Measures } from "../measures/measures.ts";
import { meanOverSeeds, spreadOverSeeds } from "../measures/over-seeds.ts";

export interface ArmReport extends Measures {
  /** The same measures for each seed, where there was more than one. */
  by_seed?: Measures[];
}

export interface Report {
  /** Names in snake_case, as the flags. */
  config: Record<string, unknown>;
  /** What the numbers rest on, in words. */
  notes: string[];
  arms: ArmReport[];
}

/** `{someName: 1}` as `{some_name: 1}`. */
export function snakeCase(config: object): Record<string, unknown> {
  const name = (key: string): string =>
    key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [name(key), value]));
}

export function armReport(seeds: readonly Measures[]): ArmReport {
  const arm = meanOverSeeds(seeds);
  return seeds.length === 1 ? arm : { ...arm, by_seed: [...seeds] };
}

function percent(fraction: number): string {
  return `${fraction < 0 ? "-" : "+"}${Math.abs(fraction * 100).toFixed(1)} %`;
}

/**
 * One sentence for each arm of the filter: its tokens per second within the objective against the *best* other
 * arm of the same run, which may be another one in every run.
 */
export function compareWithBest(
  arms: readonly ArmReport[],
  isOurs: (arm: string) => boolean,
): string[] {
  const others = arms.filter((arm) => !isOurs(arm.policy));
  if (others.length === 0) return [];
  const best = others.reduce((a, b) => (b.tps_slo > a.tps_slo ? b : a));
  return arms
    .filter((arm) => isOurs(arm.policy))
    .map((arm) => {
      const gain = best.tps_slo === 0 ? Infinity : arm.tps_slo / best.tps_slo - 1;
      const said = Number.isFinite(gain) ? percent(gain) : "more";
      return `${arm.policy}: ${said} tokens/s within the SLO against the best baseline here, ${best.policy}`;
    });
}

/** How far the seeds lie apart, or null with one seed. */
export function spreadNote(arms: readonly ArmReport[]): string | null {
  const spreads = arms.flatMap(({ by_seed }) =>
    by_seed === undefined ? [] : [spreadOverSeeds(by_seed, (seed) => seed.tps_slo)],
  );
  if (spreads.length === 0) return null;
  const widest = (Math.max(...spreads) * 100).toFixed(1);
  return `means over seeds; tokens/s within the SLO differ from the mean by ${widest} % at most`;
}
