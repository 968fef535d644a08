// SPDX-License-Identifier: Apache-2.0
// `start`: the filter in a real Envoy beside the same fleet without it, with a live page and a closing table.
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
import { Failure } from "../failure.ts";
import { interruption } from "../interruption.ts";
import { wholeNumber } from "../numbers.ts";
import { requireWritable, writeJson } from "../output-file.ts";

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
/** Two rounds of this length and the start of Envoy fit into three minutes. */
const ROUND_REAL_MS = 70_000;
/** Above this share of lost time the replay says that the machine was busy. */
const BUSY_SHARE = 0.1;

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
  driver: EnvoyDriver,
  page: LiveServer | null,
  arms: LiveArm[],
  signal: AbortSignal,
): Promise<Measures> {
  const live = new LiveArm(arm, plan.fleet.endpoints, (state, point) => page?.point(state, point));
  page?.addArm(live.state);
  arms.push(live);
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
  driver: EnvoyDriver,
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
        ...(await Promise.all(round.map((arm) => playArm(arm, plan, driver, page, arms, signal)))),
      );
    }
  } finally {
    clearInterval(progress);
  }
  page?.setPhase("done");
  return results;
}

/** On a busy machine simulated time runs slower, and the rounds end earlier in it. */
function sayBusy(lostShare: number): void {
  if (lostShare < BUSY_SHARE) return;
  const percent = Math.round(lostShare * 100);
  say(
    `this machine was busy with other things: ${percent} % of the time did not count, so there is less to see`,
  );
}

export async function start(options: StartOptions): Promise<void> {
  const plan = demoPlan({
    endpoints: wholeNumber("endpoints", options.endpoints, 1, 32),
    sessions: wholeNumber("sessions", options.sessions, 4, 400),
    seed: wholeNumber("seed", options.seed, 0, 2 ** 31),
  });
  const port = wholeNumber("port", options.port, 0, 65_535);
  requireWritable("json", options.json);
  const stop = interruption();
  await buildFilter();
  await findEnvoy();
  const facts = factsOf(plan);
  const page = options.page ? await LiveServer.start("smetric-envoy", facts, port) : null;
  say(facts.join("; "));
  if (page !== null) say(`live page: ${page.url}`);
  const driver = new EnvoyDriver({ speedup: DEMO_SPEEDUP, patienceMs: ROUND_REAL_MS });
  try {
    const results = await playAll(plan, driver, page, stop.signal);
    console.log(
      renderTable("The same agents, four times (times and rates in the GPUs' time)", results),
    );
    sayBusy(driver.lostShare);
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
      writeJson("json", options.json, report);
    }
    const silent = results.find(({ requests }) => requests === 0);
    if (silent !== undefined) throw new Failure(`${silent.policy}: no request succeeded`);
    if (options.keep && page !== null) {
      say(`the page stays at ${page.url} until Ctrl-C`);
      await stop.wait;
    }
  } catch (error) {
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    driver.close();
    await page?.close();
  }
}
