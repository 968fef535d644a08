// SPDX-License-Identifier: Apache-2.0
// `replay`: a workload against several policies, on a real Envoy or in virtual time, with one table at the end.
import { writeFileSync } from "node:fs";
import type { Driver, FleetPlan, Watcher } from "../../lab/replay/drivers/driver.ts";
import { EnvoyDriver } from "../../lab/replay/drivers/envoy/envoy-driver.ts";
import { VirtualDriver } from "../../lab/replay/drivers/virtual/virtual-driver.ts";
import { type Measures, measure } from "../../lab/replay/measures/measures.ts";
import { buildPlan, type LoadPlan } from "../../lab/replay/plan.ts";
import { renderTable } from "../../lab/replay/report/table.ts";
import { workloadNamed } from "../../lab/replay/workloads/named.ts";
import type { SessionSource } from "../../lab/replay/workloads/session.ts";
import { PRESET_NAMES, type PresetName, PRESETS } from "../../lab/mock-gpu/engine/step-cost.ts";
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";
import { interruption } from "../interruption.ts";
import { number, wholeNumber } from "../numbers.ts";

/** Flags as commander hands them over. */
export interface ReplayOptions {
  trace: string;
  driver: string;
  policies: string;
  endpoints: string;
  sessions?: string;
  rate?: string;
  minutes: string;
  preset: string;
  kvTokens?: string;
  globalGbps: string;
  globalTokens?: string;
  blockTokens?: string;
  bytesPerToken: string;
  tokenScale: string;
  starts: string;
  speedup: string;
  gateways: string;
  seed: string;
  json?: string;
  html?: string;
}

const DEFAULT_SESSIONS = "100";
/** A global tier holds eight times the fleet's own caches unless said otherwise. */
const GLOBAL_TOKENS_FACTOR = 8;
/** vLLM's block on a real Envoy's mock GPUs; the trace's own, four times as quick, in virtual time. */
const BLOCK_TOKENS = { envoy: "16", virtual: "64" };

function oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
  if ((allowed as readonly string[]).includes(value)) return value as T;
  throw new Failure(`--${flag} ${value}: allowed are ${allowed.join(", ")}`);
}

function fleetOf(options: ReplayOptions, driver: "envoy" | "virtual"): FleetPlan {
  const preset = oneOf<PresetName>("preset", options.preset, PRESET_NAMES);
  const endpoints = wholeNumber("endpoints", options.endpoints, 1, 1024);
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
  return {
    endpoints,
    preset,
    kvTokens,
    blockTokens: wholeNumber("block-tokens", blockText, 1, 4096),
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
  const wasm = await buildFilter();
  if (name === "envoy")
    return new EnvoyDriver({ speedup: number("speedup", options.speedup, 0.01) });
  return new VirtualDriver({
    wasm,
    bytesPerToken: number("bytes-per-token", options.bytesPerToken, 0.05),
    workers: 2,
    gateways: wholeNumber("gateways", options.gateways, 1, 64),
  });
}

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** Says every few real seconds how far an arm is. */
class Progress implements Watcher {
  private calls = 0;
  private saidAt = performance.now();

  constructor(
    private readonly arm: string,
    private readonly limitMs: number,
  ) {}

  tick(nowMs: number, inFlight: readonly number[]): void {
    if (performance.now() - this.saidAt < 5_000) return;
    this.saidAt = performance.now();
    const share = Math.round((nowMs / this.limitMs) * 100);
    const busy = inFlight.reduce((sum, count) => sum + count, 0);
    say(`  ${this.arm}: ${share} % of the time, ${this.calls} calls, ${busy} in flight`);
  }

  ended(): void {
    this.calls++;
  }

  sessionFinished(): void {}
}

export async function replay(options: ReplayOptions): Promise<void> {
  const driverName = oneOf("driver", options.driver, ["envoy", "virtual"] as const);
  const arms = options.policies.split(",").map((name) => name.trim());
  const seed = wholeNumber("seed", options.seed, 0);
  const minutes = number("minutes", options.minutes, 0.01);
  const fleet = fleetOf(options, driverName);
  const load = loadOf(options);
  const source = sourceOf(options, seed);
  const driver = await driverOf(driverName, options);
  const stop = interruption();
  for (const note of source.notes) say(note);
  const results: Measures[] = [];
  for (const arm of arms) {
    const plan = buildPlan(source, { fleet, load, minutes, seed });
    const startedAt = performance.now();
    const watcher = new Progress(arm, plan.limitMs);
    const run = await driver.run(arm, plan, watcher, stop.signal).catch((error: unknown) => {
      throw stop.signal.aborted ? stop.signal.reason : error;
    });
    const seconds = (performance.now() - startedAt) / 1000;
    say(`${arm}: ${run.records.length} calls in ${seconds.toFixed(1)} s${driver.speed?.() ?? ""}`);
    results.push(measure(run));
  }
  const config = { driver: driverName, trace: source.name, seed, minutes, ...load, ...fleet };
  console.log(renderTable(`${source.name}, ${fleet.endpoints} endpoints, seed ${seed}`, results));
  if (options.json !== undefined) {
    const report = { config: snakeCase(config), arms: results };
    writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
  }
}

function snakeCase(config: object): Record<string, unknown> {
  const name = (key: string): string =>
    key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.fromEntries(Object.entries(config).map(([key, value]) => [name(key), value]));
}
