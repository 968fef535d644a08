// SPDX-License-Identifier: Apache-2.0
// The bench:cost command.
import { type AdmissionCost, benchAdmission } from "../../lab/bench/admission-cost.ts";
import { benchCost, type CostReport } from "../../lab/bench/cost.ts";
import { printCost } from "../../lab/bench/cost-text.ts";
import { benchFlatness, type FlatRow } from "../../lab/bench/host-flatness.ts";
import { benchReader, type SpeedRow } from "../../lab/bench/reader-speed.ts";
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";
import { requireWritable, writeJson } from "../output-file.ts";

export interface BenchCostOptions {
  json?: string;
  quick?: boolean;
}

export interface FullCostReport extends CostReport {
  admission: AdmissionCost;
  flat: FlatRow[];
  reader: SpeedRow[];
}

const QUICK = { sizes: [2_000, 100_000, 1_000_000], rounds: 8 };

/** Prints what the filter costs a request and, on demand, writes all numbers to a file. */
export async function benchCostCommand(options: BenchCostOptions): Promise<void> {
  if (process.platform !== "linux")
    throw new Failure("bench:cost reads CPU times from Linux's /proc");
  requireWritable("json", options.json);
  const progress = (line: string): void => void process.stderr.write(`${line} ...\n`);
  const cost = await benchCost({ ...(options.quick ? QUICK : {}), progress });
  progress("admission");
  const admission = await benchAdmission();
  progress("many streams, sessions, turns and endpoints");
  const flat = benchFlatness(await buildFilter());
  progress("the request reader");
  const reader = await benchReader();
  const report: FullCostReport = { ...cost, admission, flat, reader };
  if (options.json !== undefined) writeJson("json", options.json, report);
  console.log(printCost(cost, admission, flat, reader));
}
