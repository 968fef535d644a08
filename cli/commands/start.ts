// SPDX-License-Identifier: Apache-2.0
// `start`: the filter in a real Envoy beside the same fleet without it, with a live page and a closing table.
import { writeFileSync } from "node:fs";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { findEnvoy } from "../../envoy/launcher.ts";
import { DEMO_SPEEDUP, demoPlan } from "../../lab/replay/demo.ts";
import type { ReplayPlan } from "../../lab/replay/drivers/driver.ts";
import { EnvoyDriver } from "../../lab/replay/drivers/envoy/envoy-driver.ts";
import { LiveArm } from "../../lab/replay/live/live-arm.ts";
import { LiveServer } from "../../lab/replay/live/server.ts";
import { type Measures, measure } from "../../lab/replay/measures/measures.ts";
import { type Report, snakeCase } from "../../lab/replay/report/report.ts";
import { renderTable } from "../../lab/replay/report/table.ts";
import { buildFilter } from "../build.ts";
import { interruption } from "../interruption.ts";
import { wholeNumber } from "../numbers.ts";

export interface StartOptions {
  endpoints: string;
  sessions: string;
  seed: string;
  port: string;
  /** False with --no-page. */
  page: boolean;
  keep?: boolean;
  json?: string;
}

/** Two arms at a time: the filter beside what most fleets run, then the other two stock balancers. */
const ROUNDS = [
  ["filter", "least-request"],
  ["round-robin", "session-hash"],
];
const PROGRESS_REAL_MS = 5_000;
/** Later than this, and what a client waits for is the machine and not the GPU. */
const BUSY_DELAY_MS = 30;
const NS_PER_MS = 1e6;

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

function factsOf(plan: ReplayPlan): string[] {
  const calls = plan.arrivals.reduce((sum, { session }) => sum + session.calls.length, 0);
  const apps = new Set(plan.arrivals.map(({ session }) => session.app.name)).size;
  return [
    `${plan.fleet.endpoints} mock GPUs (${plan.fleet.preset}, ${Math.round(plan.fleet.kvTokens / 1000)}k tokens of KV cache each)`,
    `${plan.arrivals.length} agent sessions of ${apps} applications, ${calls} calls`,
    `time runs ${DEMO_SPEEDUP} times as fast`,
  ];
}

/** Runs one arm and shows it on the page. */
async function playArm(
  arm: string,
  plan: ReplayPlan,
  page: LiveServer | null,
  arms: LiveArm[],
  signal: AbortSignal,
): Promise<Measures> {
  const live = new LiveArm(arm, plan.fleet.endpoints, (state, point) => page?.point(state, point));
  page?.addArm(live.state);
  arms.push(live);
  const driver = new EnvoyDriver({ speedup: DEMO_SPEEDUP });
  const run = await driver.run(arm, plan, live, signal);
  live.done();
  return measure(run);
}

function progressLine(arms: readonly LiveArm[]): string {
  return arms
    .filter(({ state }) => state.state === "running")
    .map(({ state: { name, totals } }) => {
      const hit = (totals.hitRate * 100).toFixed(1);
      return `${name}: ${totals.requests} requests, hit rate ${hit} %, TTFT p50 ${totals.ttftP50S.toFixed(2)} s`;
    })
    .join(" | ");
}

async function playAll(
  plan: ReplayPlan,
  page: LiveServer | null,
  signal: AbortSignal,
): Promise<Measures[]> {
  const results: Measures[] = [];
  const arms: LiveArm[] = [];
  const progress = setInterval(() => say(`  ${progressLine(arms)}`), PROGRESS_REAL_MS);
  try {
    for (const round of ROUNDS) {
      const phase = `running ${round.join(" beside ")}`;
      say(`${phase} ...`);
      page?.setPhase(phase);
      results.push(
        ...(await Promise.all(round.map((arm) => playArm(arm, plan, page, arms, signal)))),
      );
    }
  } finally {
    clearInterval(progress);
  }
  page?.setPhase("done");
  return results;
}

/** Latencies are real ones times the speed: a machine that does other things as well stretches them. */
function sayBusy(delayMs: number): void {
  if (delayMs < BUSY_DELAY_MS) return;
  const seconds = ((delayMs * DEMO_SPEEDUP) / 1000).toFixed(1);
  say(
    `this machine was busy: one event in ten came ${Math.round(delayMs)} ms late, which is ${seconds} s of the GPUs' time; latencies are too high, hit rates and load are not affected`,
  );
}

export async function start(options: StartOptions): Promise<void> {
  const plan = demoPlan({
    endpoints: wholeNumber("endpoints", options.endpoints, 1, 32),
    sessions: wholeNumber("sessions", options.sessions, 4, 400),
    seed: wholeNumber("seed", options.seed, 0, 2 ** 31),
  });
  const port = wholeNumber("port", options.port, 0, 65_535);
  const stop = interruption();
  await buildFilter();
  await findEnvoy();
  const facts = factsOf(plan);
  const page = options.page ? await LiveServer.start("smetric-envoy", facts, port) : null;
  say(facts.join("; "));
  if (page !== null) say(`live page: ${page.url}`);
  try {
    const delay = monitorEventLoopDelay();
    delay.enable();
    const results = await playAll(plan, page, stop.signal);
    delay.disable();
    console.log(
      renderTable("The same agents, four times (times and rates in the GPUs' time)", results),
    );
    sayBusy(delay.percentile(90) / NS_PER_MS);
    if (options.json !== undefined) {
      const { endpoints, preset, kvTokens } = plan.fleet;
      const config = {
        driver: "envoy",
        trace: "demo",
        seed: plan.seed,
        endpoints,
        preset,
        kvTokens,
      };
      const report: Report = { config: snakeCase(config), notes: facts, arms: results };
      writeFileSync(options.json, `${JSON.stringify(report, null, 2)}\n`);
    }
    if (options.keep && page !== null) {
      say(`the page stays at ${page.url} until Ctrl-C`);
      await stop.wait;
    }
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    await page?.close();
  }
}
