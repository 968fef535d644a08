// SPDX-License-Identifier: Apache-2.0
// `replay`: a workload against several policies, on a real Envoy or in virtual time, with one table at the end.
import type { Disturbance, Driver, FleetPlan } from "../../lab/replay/drivers/driver.ts";
import { joinArm, splitArm } from "../../lab/replay/admission/arms.ts";
import { EnvoyDriver } from "../../lab/replay/drivers/envoy/envoy-driver.ts";
import { envoyArm, observedArm } from "../../lab/replay/drivers/envoy/arms.ts";
import {
  FILTER_POLICIES,
  requireVirtualArm,
  VirtualDriver,
} from "../../lab/replay/drivers/virtual/virtual-driver.ts";
import { type Measures, measure } from "../../lab/replay/measures/measures.ts";
import type { ArmRun } from "../../lab/replay/measures/record.ts";
import { buildPlan, type LoadPlan } from "../../lab/replay/plan.ts";
import { renderHtml } from "../../lab/replay/report/html.ts";
import {
  type ArmReport,
  armReport,
  compareWithBest,
  type Report,
  snakeCase,
  spreadNote,
} from "../../lab/replay/report/report.ts";
import { renderTable } from "../../lab/replay/report/table.ts";
import { workloadNamed } from "../../lab/replay/workloads/named.ts";
import type { SessionSource } from "../../lab/replay/workloads/session.ts";
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";
import { interruption } from "../interruption.ts";
import { number, wholeNumber } from "../numbers.ts";
import { oneOf } from "../one-of.ts";
import { requireWritable, writeJson, writeOutput } from "../output-file.ts";
import { type ReplayFlags, type ReplayOptions, withDefaults } from "../replaying/replay-flags.ts";
import { ReplayProgress } from "../replaying/replay-progress.ts";
import { disturbanceOf, fleetOf, holdingOf } from "../replaying/replay-setting.ts";
import { replayAttached } from "./replay-attached.ts";

const DEFAULT_SESSIONS = "100";
/** The filter itself, and the balancers that it observes; a hash needs a session id that its bodies do not have. */
const RECORDED_POLICIES = [...FILTER_POLICIES, "least-request", "p2c", "round-robin"];

function loadOf(options: ReplayOptions): LoadPlan {
  if (options.rate === undefined) {
    const text = options.sessions ?? DEFAULT_SESSIONS;
    return { sessions: wholeNumber("sessions", text, 1, 1_000_000) };
  }
  if (options.sessions !== undefined)
    throw new Failure("give either --sessions or --rate, not both");
  return { ratePerS: number("rate", options.rate, 0.0001) };
}

function sourceOf(options: ReplayOptions, seed: number): SessionSource {
  const starts = oneOf("starts", options.starts, ["genuine", "resumed", "all"] as const);
  const tokenScale = number("token-scale", options.tokenScale, 0.001);
  return workloadNamed(options.trace, { seed, tokenScale, starts });
}

async function driverOf(
  name: "envoy" | "virtual",
  options: ReplayOptions,
  recorded?: (record: string) => void,
): Promise<Driver> {
  const speedup = number("speedup", options.speedup, 0.01);
  const bytesPerToken = number("bytes-per-token", options.bytesPerToken, 0.05);
  const gateways = wholeNumber("gateways", options.gateways, 1, 64);
  const wasm = await buildFilter();
  const admission = holdingOf(options);
  if (name === "envoy") return new EnvoyDriver({ speedup, admission, recorded });
  const configuration = { admission };
  const setting = { workers: 2, gateways, configuration, recorded };
  return new VirtualDriver({ wasm, bytesPerToken, ...setting });
}

/** Records tell of one run, of an arm that the filter can stand beside. */
function requireRecordable(
  driver: string,
  arms: readonly string[],
  seeds: readonly number[],
): void {
  const [arm = ""] = arms;
  if (arms.length > 1 || seeds.length > 1) {
    throw new Failure("--records: give one policy and one seed");
  }
  if (driver === "envoy") observedArm(arm);
  else if (!RECORDED_POLICIES.includes(splitArm(arm).policy)) {
    throw new Failure(`--records: allowed policies are ${RECORDED_POLICIES.join(", ")}`);
  }
}

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** @throws Failure when nothing of an arm can be measured */
function requireSuccess({ arm, records }: ArmRun, { requests }: Measures): void {
  if (requests > 0) return;
  const error = records.find((record) => record.error !== null)?.error;
  const why =
    error === undefined
      ? `${records.length} calls began, none of them after the warm-up`
      : `the first error: ${error}`;
  throw new Failure(`policy ${arm}: no request succeeded (${why})`);
}

/** One arm with one seed. */
async function playArm(
  arm: string,
  seed: number,
  options: ReplayOptions,
  setup: Setup,
): Promise<Measures> {
  const { driver, fleet, load, minutes, disturbance, stop } = setup;
  const source = sourceOf(options, seed);
  const plan = buildPlan(source, { fleet, load, minutes, seed, disturbance });
  const startedAt = performance.now();
  const watcher = new ReplayProgress(arm, plan.limitMs);
  const run = await driver.run(arm, plan, watcher, stop).catch((error: unknown) => {
    throw stop.aborted ? stop.reason : error;
  });
  const seconds = (performance.now() - startedAt) / 1000;
  const speed = driver.speed?.() ?? "";
  say(`${arm}, seed ${seed}: ${run.records.length} calls in ${seconds.toFixed(1)} s${speed}`);
  const measures = measure(run);
  requireSuccess(run, measures);
  return measures;
}

interface Setup {
  driver: Driver;
  fleet: FleetPlan;
  load: LoadPlan;
  minutes: number;
  disturbance: Disturbance;
  stop: AbortSignal;
}

async function playAll(
  arms: readonly string[],
  seeds: readonly number[],
  options: ReplayOptions,
  setup: Setup,
): Promise<ArmReport[]> {
  const reports: ArmReport[] = [];
  for (const arm of arms) {
    const bySeed: Measures[] = [];
    for (const seed of seeds) bySeed.push(await playArm(arm, seed, options, setup));
    reports.push(armReport(bySeed));
  }
  return reports;
}

/** Arms that are this product's own; published policies that the filter offers as well are baselines. */
const OWN_POLICIES: readonly string[] = ["filter", "priced", "sticky"];

/** What the numbers rest on: capacity, what engines do, and each filter arm against the best other one. */
function notesOf(
  source: SessionSource,
  fleet: FleetPlan,
  seeds: readonly number[],
  arms: readonly ArmReport[],
): string[] {
  const tier =
    fleet.globalTokens === 0
      ? "no global KV tier"
      : `a global KV tier of ${fleet.globalTokens} tokens at ${fleet.globalGbps} GB/s for all`;
  const engine = `${fleet.kvTokens} KV tokens an endpoint, ${tier}; prefix caching and chunked prefill are on`;
  return [
    ...source.notes,
    engine,
    `seeds ${seeds.join(", ")}; ${spreadNote(arms) ?? "one seed: no spread is known"}`,
    ...compareWithBest(arms, (name) => OWN_POLICIES.includes(splitArm(name).policy)),
  ];
}

function listOf(flag: string, text: string): string[] {
  const names = text.split(",").map((name) => name.trim());
  for (const [index, name] of names.entries()) {
    if (names.indexOf(name) < index) throw new Failure(`--${flag}: ${name} is there twice`);
  }
  return names;
}

/**
 * Every policy with every way of admission.
 * @throws Failure for a name that this driver does not play, or a name twice
 */
function armsOf(options: ReplayOptions, driver: "envoy" | "virtual", kvTokens: number): string[] {
  const ways = listOf("admission", options.admission);
  const policies = listOf("policies", options.policies);
  const arms = policies.flatMap((policy) => ways.map((way) => joinArm(policy, way)));
  for (const arm of arms) {
    if (driver === "envoy") envoyArm(arm, kvTokens, holdingOf(options));
    else requireVirtualArm(arm);
  }
  return arms;
}

/** Everything that can be wrong about the flags is said before anything runs. */
export async function replay(flags: ReplayFlags): Promise<void> {
  const options = withDefaults(flags);
  for (const flag of ["json", "html", "records"] as const) requireWritable(flag, options[flag]);
  if (options.url !== undefined) return replayAttached({ ...options, url: options.url });
  const driverName = oneOf("driver", options.driver, ["envoy", "virtual"] as const);
  const firstSeed = wholeNumber("seed", options.seed, 0);
  const seedCount = wholeNumber("seeds", options.seeds, 1, 100);
  const seeds = Array.from({ length: seedCount }, (_, index) => firstSeed + index);
  const minutes = number("minutes", options.minutes, 0.01);
  const fleet = fleetOf(options, driverName);
  const arms = armsOf(options, driverName, fleet.kvTokens);
  if (options.records !== undefined) requireRecordable(driverName, arms, seeds);
  const disturbance = disturbanceOf(options, fleet.endpoints);
  const load = loadOf(options);
  const source = sourceOf(options, firstSeed);
  for (const note of source.notes) say(note);
  const records: string[] = [];
  const recorded = (record: string): unknown => records.push(record);
  const keeps = options.records !== undefined;
  const driver = await driverOf(driverName, options, keeps ? recorded : undefined);
  const stop = interruption().signal;
  const setup = { driver, fleet, load, minutes, disturbance, stop };
  const reports = await playAll(arms, seeds, options, setup).finally(() => driver.close?.());
  const notes = notesOf(source, fleet, seeds, reports);
  const { starts, tokenScale, bytesPerToken, gateways, speedup } = options;
  const shape = { starts, tokenScale, bytesPerToken, gateways, speedup };
  const config = {
    driver: driverName,
    trace: source.name,
    seeds,
    minutes,
    ...load,
    ...fleet,
    ...shape,
    ...(options.admission === "off" ? {} : holdingOf(options)),
    ...disturbance,
  };
  console.log(renderTable(`${source.name}, ${fleet.endpoints} endpoints`, reports));
  for (const note of notes) console.log(note);
  const report: Report = { config: snakeCase(config), notes, arms: reports };
  if (options.records !== undefined) {
    writeOutput("records", options.records, records.map((record) => `${record}\n`).join(""));
  }
  if (options.json !== undefined) writeJson("json", options.json, report);
  if (options.html !== undefined) writeOutput("html", options.html, await renderHtml(report));
}
