// SPDX-License-Identifier: Apache-2.0
// `replay`: a workload against several policies, on a real Envoy or in virtual time, with one table at the end.
import type { Driver, FleetPlan } from "../../lab/replay/drivers/driver.ts";
import { EnvoyDriver } from "../../lab/replay/drivers/envoy/envoy-driver.ts";
import { envoyArm } from "../../lab/replay/drivers/envoy/arms.ts";
import {
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
import { PRESET_NAMES, type PresetName, PRESETS } from "../../lab/mock-gpu/engine/step-cost.ts";
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";
import { interruption } from "../interruption.ts";
import { number, wholeNumber } from "../numbers.ts";
import { requireWritable, writeJson, writeOutput } from "../output-file.ts";
import { type ReplayFlags, type ReplayOptions, withDefaults } from "../replay-flags.ts";
import { ReplayProgress } from "../replay-progress.ts";
import { replayAttached } from "./replay-attached.ts";

const DEFAULT_SESSIONS = "100";
/** A global tier holds eight times the fleet's own caches unless said otherwise. */
const GLOBAL_TOKENS_FACTOR = 8;
/** vLLM's block on a real Envoy's mock GPUs; the trace's own, four times as quick, in virtual time. */
const BLOCK_TOKENS = { envoy: "16", virtual: "64" };

function oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
  if ((allowed as readonly string[]).includes(value)) return value as T;
  throw new Failure(`--${flag} ${value}: allowed are ${allowed.join(", ")}`);
}

/** `--pd 4:8`: four endpoints that prefill and eight that decode; otherwise `--endpoints` that do both. */
function poolsOf(options: ReplayOptions): Pick<FleetPlan, "endpoints" | "decodeEndpoints"> {
  if (options.pd === undefined) {
    return { endpoints: wholeNumber("endpoints", options.endpoints, 1, 1024), decodeEndpoints: 0 };
  }
  const [prefill, decode, ...more] = options.pd.split(":");
  if (prefill === undefined || decode === undefined || more.length > 0) {
    throw new Failure(`--pd ${options.pd}: write it as 4:8`);
  }
  return {
    endpoints: wholeNumber("pd", prefill, 1, 1024),
    decodeEndpoints: wholeNumber("pd", decode, 1, 1024),
  };
}

function fleetOf(options: ReplayOptions, driver: "envoy" | "virtual"): FleetPlan {
  const preset = oneOf<PresetName>("preset", options.preset, PRESET_NAMES);
  const { endpoints, decodeEndpoints } = poolsOf(options);
  const kvTokens = wholeNumber(
    "kv-tokens",
    options.kvTokens ?? String(PRESETS[preset].kvTokens),
    1,
  );
  const globalGbps = number("global-gbps", options.globalGbps, 0);
  const globalTokens =
    options.globalTokens === undefined
      ? kvTokens * endpoints * GLOBAL_TOKENS_FACTOR
      : wholeNumber("global-tokens", options.globalTokens, 0);
  const blockText = options.blockTokens ?? BLOCK_TOKENS[driver];
  const blockTokens = wholeNumber("block-tokens", blockText, 1, 4096);
  if (kvTokens < blockTokens) {
    throw new Failure(`--kv-tokens ${kvTokens}: less than a block of ${blockTokens} tokens`);
  }
  return {
    endpoints,
    decodeEndpoints,
    preset,
    kvTokens,
    blockTokens,
    globalTokens: globalGbps === 0 ? 0 : globalTokens,
    globalGbps,
  };
}

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

async function driverOf(name: "envoy" | "virtual", options: ReplayOptions): Promise<Driver> {
  const speedup = number("speedup", options.speedup, 0.01);
  const bytesPerToken = number("bytes-per-token", options.bytesPerToken, 0.05);
  const gateways = wholeNumber("gateways", options.gateways, 1, 64);
  const wasm = await buildFilter();
  return name === "envoy"
    ? new EnvoyDriver({ speedup })
    : new VirtualDriver({ wasm, bytesPerToken, workers: 2, gateways });
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
  const { driver, fleet, load, minutes, stop } = setup;
  const plan = buildPlan(sourceOf(options, seed), { fleet, load, minutes, seed });
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
    ...compareWithBest(arms, (name) => OWN_POLICIES.includes(name)),
  ];
}

/** @throws Failure for a name that this driver does not play, or a name twice */
function armsOf(options: ReplayOptions, driver: "envoy" | "virtual"): string[] {
  const arms = options.policies.split(",").map((name) => name.trim());
  for (const [index, arm] of arms.entries()) {
    if (arms.indexOf(arm) < index) throw new Failure(`--policies: ${arm} is there twice`);
    if (driver === "envoy") envoyArm(arm);
    else requireVirtualArm(arm);
  }
  return arms;
}

/** Everything that can be wrong about the flags is said before anything runs. */
export async function replay(flags: ReplayFlags): Promise<void> {
  const options = withDefaults(flags);
  requireWritable("json", options.json);
  requireWritable("html", options.html);
  if (options.url !== undefined) return replayAttached({ ...options, url: options.url });
  const driverName = oneOf("driver", options.driver, ["envoy", "virtual"] as const);
  const arms = armsOf(options, driverName);
  const firstSeed = wholeNumber("seed", options.seed, 0);
  const seedCount = wholeNumber("seeds", options.seeds, 1, 100);
  const seeds = Array.from({ length: seedCount }, (_, index) => firstSeed + index);
  const minutes = number("minutes", options.minutes, 0.01);
  const fleet = fleetOf(options, driverName);
  const load = loadOf(options);
  const source = sourceOf(options, firstSeed);
  for (const note of source.notes) say(note);
  const driver = await driverOf(driverName, options);
  const stop = interruption().signal;
  const setup = { driver, fleet, load, minutes, stop };
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
  };
  console.log(renderTable(`${source.name}, ${fleet.endpoints} endpoints`, reports));
  for (const note of notes) console.log(note);
  const report: Report = { config: snakeCase(config), notes, arms: reports };
  if (options.json !== undefined) writeJson("json", options.json, report);
  if (options.html !== undefined) writeOutput("html", options.html, await renderHtml(report));
}
