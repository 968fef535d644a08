// SPDX-License-Identifier: Apache-2.0
// One run: a plan from its description, the virtual driver, and the measures that are kept of it.
import { UNDISTURBED, type Watcher } from "../replay/drivers/driver.ts";
import { VirtualDriver } from "../replay/drivers/virtual/virtual-driver.ts";
import { type Measures, measure } from "../replay/measures/measures.ts";
import { buildPlan } from "../replay/plan.ts";
import { workloadNamed } from "../replay/workloads/named.ts";
import type { RunMeasures, RunSpec } from "./study.ts";

const SILENT: Watcher = { tick() {}, ended() {}, sessionFinished() {} };
/** Bodies at an eighth of their real size: the filter learns the ratio, and long runs stay quick. */
const BYTES_PER_TOKEN = 0.5;
const WORKERS = 2;
const DIGITS = 5;

type Json = number | string | boolean | null | Json[] | { [name: string]: Json };

/** Five significant digits are more than any seed repeats. */
function rounded(value: Json): Json {
  if (typeof value === "number") return Number(value.toPrecision(DIGITS));
  if (Array.isArray(value)) return value.map(rounded);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, rounded(each)]));
}

/** Lists by endpoint or turn would be most of a row. */
const LEFT_OUT = ["by_turn", "endpoint_tokens", "jct_by_size_s"];

/** What of the measures is kept. */
export function kept(measures: Measures): RunMeasures {
  const entries = Object.entries(measures).filter(([name]) => !LEFT_OUT.includes(name));
  return rounded(Object.fromEntries(entries)) as unknown as RunMeasures;
}

/**
 * Plays one run.
 * @param wasm path of the compiled filter
 */
export async function play(spec: RunSpec, wasm: string): Promise<RunMeasures> {
  const { trace, half, fleet, load, minutes, seed, arm, configuration } = spec;
  const source = workloadNamed(trace, { seed, tokenScale: 1, starts: "genuine", half });
  const disturbance = { ...UNDISTURBED, ...spec.disturbance };
  const plan = buildPlan(source, { fleet, load, minutes, seed, disturbance });
  const { bytesPerToken = BYTES_PER_TOKEN, knowsText, gateways = 1 } = spec;
  const driver = new VirtualDriver({
    ...{ wasm, bytesPerToken, knowsText, workers: WORKERS, gateways },
    configuration,
  });
  const run = await driver.run(arm, plan, SILENT, new AbortController().signal);
  return kept(measure(run));
}
