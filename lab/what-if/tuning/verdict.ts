// SPDX-License-Identifier: Apache-2.0
// What a search came to, in words and as a table; often: keep the default.
import { textTable } from "../../replay/report/text-table.ts";
import { type Configuration, DEFAULT, nameOf } from "./candidates.ts";
import { type Gain, type Objective, OBJECTIVE_WORDS } from "./objective.ts";
import { isGain, type SearchResult } from "./search.ts";

function signed(gain: number): string {
  if (!Number.isFinite(gain)) return "more";
  return `${gain < 0 ? "-" : "+"}${Math.abs(gain * 100).toFixed(1)} %`;
}

function withSpread({ mean, least, most }: Gain): string {
  return `${signed(mean)} (seeds ${signed(least)} to ${signed(most)})`;
}

/** The configuration to use: the best, where it gains on sessions that the search did not see. */
export function chosen({ best, reported }: SearchResult): Configuration {
  return reported !== null && isGain(reported) ? best : DEFAULT;
}

/** One or two sentences. */
export function verdictOf(result: SearchResult, objective: Objective, seeds: number): string[] {
  const { trials, best, reported } = result;
  const words = OBJECTIVE_WORDS[objective];
  const tried = `tried ${trials.length} configurations on every other session of the log, with up to ${seeds} seeds`;
  if (reported === null) {
    return [`${tried}: none gains over the default (${words}); keep the default`];
  }
  const found = trials.find(({ configuration }) => configuration === best)!.search!;
  const there = `${tried}: the best is ${nameOf(best)}, ${withSpread(found)} ${words}`;
  const here = `on the other sessions, which the search did not see: ${withSpread(reported)}`;
  if (isGain(reported)) return [there, here];
  return [there, `${here}: that is no gain, keep the default`];
}

/** All that was tried, the best first. */
export function renderTrials({ trials }: SearchResult): string {
  const rows = trials.map(({ configuration, first, search }) => {
    const all = search === null ? "-" : withSpread(search);
    return [nameOf(configuration), signed(first.mean), all];
  });
  return textTable(["against the default", "one seed", "all seeds"], rows);
}
