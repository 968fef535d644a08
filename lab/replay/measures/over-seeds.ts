// SPDX-License-Identifier: Apache-2.0
// One arm over several seeds: the mean of every number, and how far the seeds lie apart.
import { mean } from "simple-statistics";
import type { Measures, TurnRow } from "./measures.ts";

type Json = number | string | boolean | null | Json[] | { [name: string]: Json };

/** Numbers are averaged, lists and objects member by member; what is not in all of them is left out. */
function average(values: readonly Json[]): Json {
  const [first] = values;
  if (typeof first === "number") return mean(values as number[]);
  if (Array.isArray(first)) {
    const lists = values as Json[][];
    const length = Math.min(...lists.map((list) => list.length));
    return Array.from({ length }, (_, index) => average(lists.map((list) => list[index]!)));
  }
  if (typeof first !== "object" || first === null) return first ?? null;
  const objects = values as { [name: string]: Json }[];
  const names = Object.keys(first).filter((name) => objects.every((object) => name in object));
  return Object.fromEntries(
    names.map((name) => [name, average(objects.map((object) => object[name]!))]),
  );
}

/** Turns that all seeds have, by their name and not by their place. */
function sharedTurns(seeds: readonly Measures[]): Set<string> {
  const sets = seeds.map((seed) => new Set(seed.by_turn.map((row) => row.turn)));
  return new Set([...sets[0]!].filter((turn) => sets.every((set) => set.has(turn))));
}

/** The mean of several seeds' measures of one arm. */
export function meanOverSeeds(seeds: readonly Measures[]): Measures {
  if (seeds.length === 1) return seeds[0]!;
  const shared = sharedTurns(seeds);
  const keep = (row: TurnRow): boolean => shared.has(row.turn);
  const aligned = seeds.map((seed) => ({ ...seed, by_turn: seed.by_turn.filter(keep) }));
  return average(aligned as unknown as Json[]) as unknown as Measures;
}

/** Largest distance of a seed from the mean, as a fraction of the mean. */
export function spreadOverSeeds(
  seeds: readonly Measures[],
  value: (seed: Measures) => number,
): number {
  const values = seeds.map(value);
  const middle = mean(values);
  if (middle === 0) return 0;
  return Math.max(...values.map((each) => Math.abs(each - middle))) / Math.abs(middle);
}
