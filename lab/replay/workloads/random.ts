// SPDX-License-Identifier: Apache-2.0
// Seeded chance: every draw of a replay comes from a named stream, so one seed gives one replay.
import { createHash } from "node:crypto";
import { randomExponential, randomLogNormal } from "d3-random";
import { xoroshiro128plusFromState } from "pure-rand/generator/xoroshiro128plus";

const TWO_POW_32 = 4294967296;

/** A stream of draws. */
export interface Chance {
  /** Uniform in [0, 1). */
  readonly uniform: () => number;
  /** Uniform integer in [0, bound). */
  readonly below: (bound: number) => number;
  /** Exponential with the given mean, in the unit of the mean. */
  readonly exponential: (mean: number) => number;
  /** Log-normal with the given median and sigma of the logarithm. */
  readonly logNormal: (median: number, sigma: number) => number;
}

/** The stream `name` of a seed: independent of every other name's and of the order of use. */
export function chance(seed: number, name: string): Chance {
  const digest = createHash("sha256").update(`${seed}/${name}`).digest();
  const generator = xoroshiro128plusFromState([
    digest.readInt32LE(0),
    digest.readInt32LE(4),
    digest.readInt32LE(8),
    digest.readInt32LE(12),
  ]);
  const uniform = (): number => (generator.next() >>> 0) / TWO_POW_32;
  const exponential = randomExponential.source(uniform)(1);
  return {
    uniform,
    below: (bound) => Math.floor(uniform() * bound),
    exponential: (mean) => exponential() * mean,
    logNormal: (median, sigma) => randomLogNormal.source(uniform)(Math.log(median), sigma)(),
  };
}

/** The items in a random order; the input stays as it is. */
export function shuffled<T>(items: readonly T[], draws: Chance): T[] {
  const result = [...items];
  for (let i = result.length - 1; i > 0; i--) {
    const j = draws.below(i + 1);
    [result[i], result[j]] = [result[j]!, result[i]!];
  }
  return result;
}
