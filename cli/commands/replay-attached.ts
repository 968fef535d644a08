// SPDX-License-Identifier: Apache-2.0
// `replay --url`: the demo's agents against a gateway that somebody else runs, with one column in the table.
import { setTimeout as sleep } from "node:timers/promises";
import { demoPlan } from "../../lab/replay/demo.ts";
import type { ReplayPlan } from "../../lab/replay/drivers/driver.ts";
import { ArmReplay } from "../../lab/replay/drivers/envoy/arm-replay.ts";
import { AttachedGateway } from "../../lab/replay/drivers/envoy/target.ts";
import { measure } from "../../lab/replay/measures/measures.ts";
import { type Report } from "../../lab/replay/report/report.ts";
import { renderTable } from "../../lab/replay/report/table.ts";
import { Failure } from "../failure.ts";
import { interruption } from "../interruption.ts";
import { number, wholeNumber } from "../numbers.ts";
import { writeJson } from "../output-file.ts";
import { ReplayProgress } from "../replaying/replay-progress.ts";

export interface AttachedOptions {
  url: string;
  sessions?: string;
  speedup: string;
  seed: string;
  json?: string;
}

const DEFAULT_SESSIONS = "16";
/** Five minutes of agents' time: half a minute at the default speed. */
const LIMIT_MS = 300_000;
const ARRIVALS_WITHIN_MS = 30_000;
const READY_TIMEOUT_MS = 60_000;
const POLL_MS = 500;

function planOf(options: AttachedOptions): ReplayPlan {
  const sessions = wholeNumber("sessions", options.sessions ?? DEFAULT_SESSIONS, 1, 10_000);
  const seed = wholeNumber("seed", options.seed, 0);
  const timing = { arrivalsWithinMs: ARRIVALS_WITHIN_MS, limitMs: LIMIT_MS };
  return demoPlan({ endpoints: 1, sessions, seed, ...timing });
}

/** Waits until an endpoint answers its health check through the gateway. */
async function untilReady(url: string, signal: AbortSignal): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  for (;;) {
    const answer = await fetch(`${url}/health`, { signal }).catch(() => null);
    await answer?.text().catch(() => "");
    if (answer?.ok) return;
    signal.throwIfAborted();
    if (performance.now() > deadline) {
      throw new Failure(`${url}: no endpoint behind it answers /health`);
    }
    await sleep(POLL_MS, undefined, { signal });
  }
}

export async function replayAttached(options: AttachedOptions): Promise<void> {
  const url = options.url.replace(/\/+$/, "");
  if (!/^https?:\/\/[^/]+$/.test(url)) {
    throw new Failure(`--url ${options.url}: an address like http://127.0.0.1:10000 is needed`);
  }
  const plan = planOf(options);
  const speedup = number("speedup", options.speedup, 0.01);
  const { signal } = interruption();
  await untilReady(url, signal).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error;
  });
  const pace = { speedup, realMs: () => performance.now() };
  const progress = new ReplayProgress("gateway", plan.limitMs);
  const arm = new ArmReplay("gateway", false, plan, new AttachedGateway(url), pace, progress);
  const run = await arm.play(signal).catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error;
  });
  const result = measure(run);
  console.log(renderTable(`agents against ${url}`, [result]));
  if (options.json !== undefined) {
    const config = { driver: "envoy", trace: "demo", url, seed: plan.seed, speedup };
    const report: Report = { config, notes: [], arms: [result] };
    writeJson("json", options.json, report);
  }
  if (result.requests === 0) throw new Failure(`${url}: no request was answered`);
}
