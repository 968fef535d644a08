// SPDX-License-Identifier: Apache-2.0
// `tune`: searches the filter's configuration for a user's own traffic; prints it, and what it gains.
import { snakeCase } from "../../lab/replay/report/report.ts";
import { contextShare } from "../../lab/what-if/contexts.ts";
import { capacityFinding } from "../../lab/what-if/fleet.ts";
import { candidates } from "../../lab/what-if/tuning/candidates.ts";
import { OBJECTIVE_NAMES } from "../../lab/what-if/tuning/objective.ts";
import { search } from "../../lab/what-if/tuning/search.ts";
import { chosen, renderTrials, verdictOf } from "../../lab/what-if/tuning/verdict.ts";
import { playerOf, situationOf } from "../replaying/log-situation.ts";
import { number } from "../numbers.ts";
import { oneOf } from "../one-of.ts";
import { requireWritable, writeJson } from "../output-file.ts";
import type { LogFlags } from "../replaying/what-if-flags.ts";

export interface TuneFlags extends LogFlags {
  load: string;
  objective: string;
  /** File for the configuration. */
  out?: string;
}

/** Everything that can be wrong about log and flags is said before anything runs. */
export async function tune(file: string, flags: TuneFlags): Promise<void> {
  requireWritable("json", flags.json);
  requireWritable("out", flags.out);
  const load = number("load", flags.load, 0.05, 20);
  const objective = oneOf("objective", flags.objective, OBJECTIVE_NAMES);
  const situation = situationOf(file, flags);
  const play = await playerOf(flags);
  const { log, fleet, seeds, findings } = situation;
  const tried = candidates(contextShare(log, fleet) * load);
  const result = await search(log, tried, { fleet, load, seeds, objective }, play);
  const configuration = chosen(result);
  const verdict = verdictOf(result, objective, seeds.length);
  console.log(renderTrials(result));
  console.log(`the fleet: ${[...findings, capacityFinding(situation)].join("; ")}`);
  for (const sentence of verdict) console.log(sentence);
  console.log(JSON.stringify(configuration, null, 2));
  const config = snakeCase({ log: log.name, seeds: seeds.length, load, objective, ...fleet });
  if (flags.json !== undefined) writeJson("json", flags.json, { config, verdict, ...result });
  if (flags.out !== undefined) writeJson("out", flags.out, configuration);
}
