// SPDX-License-Identifier: Apache-2.0
// From the flags of `what-if` and `tune` to the log, the fleet behind it, and a way to replay it.
import { PRESET_NAMES } from "../../lab/mock-gpu/engine/step-cost.ts";
import type { ReplayPlan } from "../../lab/replay/drivers/driver.ts";
import {
  requireVirtualArm,
  VirtualDriver,
} from "../../lab/replay/drivers/virtual/virtual-driver.ts";
import { measure } from "../../lab/replay/measures/measures.ts";
import type { ArmRun } from "../../lab/replay/measures/record.ts";
import { findFleet, type FoundFleet, type GivenFleet } from "../../lab/what-if/fleet.ts";
import { type Log, readLog } from "../../lab/what-if/log.ts";
import { nearestArm } from "../../lab/what-if/nearest-arm.ts";
import { observe, type Observed } from "../../lab/what-if/observed.ts";
import { guessPresent, type Present } from "../../lab/what-if/present.ts";
import type { Arm, Play, Played } from "../../lab/what-if/study.ts";
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";
import { interruption } from "../interruption.ts";
import { number, wholeNumber } from "../numbers.ts";
import { oneOf } from "../one-of.ts";
import { ReplayProgress } from "./replay-progress.ts";
import type { LogFlags } from "./what-if-flags.ts";

function givenFleet(flags: LogFlags): GivenFleet {
  const optional = (name: string, text: string | undefined): number | undefined =>
    text === undefined ? undefined : wholeNumber(name, text, 1);
  const { preset } = flags;
  return {
    endpoints: optional("endpoints", flags.endpoints),
    kvTokens: optional("kv-tokens", flags.kvTokens),
    preset: preset === undefined ? undefined : oneOf("preset", preset, PRESET_NAMES),
    blockTokens: wholeNumber("block-tokens", flags.blockTokens, 1, 4096),
  };
}

/** What a log and the flags say together. */
export interface Situation extends FoundFleet {
  log: Log;
  observed: Observed;
  present: Present;
  seeds: number[];
}

/** @throws Failure for flags that mean nothing, and for what is no log or too short */
export function situationOf(file: string, flags: LogFlags): Situation {
  const given = givenFleet(flags);
  const seedCount = wholeNumber("seeds", flags.seeds, 1, 100);
  const windowMs = number("minutes", flags.minutes, 1) * 60_000;
  if (flags.now !== undefined) requireVirtualArm(flags.now);
  const log = readLog(file, windowMs);
  const observed = observe(log, given.blockTokens);
  const present =
    flags.now === undefined ? guessPresent(observed) : { arm: flags.now, because: "as given" };
  const seeds = Array.from({ length: seedCount }, (_, index) => index + 1);
  return { log, observed, present, seeds, ...findFleet(observed, given) };
}

/** The same with a guess about the balancing corrected by replays. */
export async function settled(situation: Situation, play: Play): Promise<Situation> {
  const { observed, log, fleet } = situation;
  const { arm, because, or = [] } = situation.present;
  const now = await nearestArm(observed, log, fleet, [arm, ...or].map(armNamed), play);
  return { ...situation, present: { arm: now.policy, because } };
}

function armNamed(arm: string): Arm {
  return { name: `now: ${arm}`, policy: arm, configuration: {} };
}

/** Today's balancing. */
export function armOf({ arm }: Present): Arm {
  return armNamed(arm);
}

/** Sessions that a run has finished, from the start of their first call to the end of their last. */
function jobsOf({ records, finishedSessions }: ArmRun): Map<string, number> {
  const spans = new Map<string, { fromMs: number; toMs: number }>();
  for (const { session, startedMs, endedMs } of records) {
    if (!finishedSessions.has(session)) continue;
    const span = spans.get(session) ?? { fromMs: startedMs, toMs: endedMs };
    spans.set(session, {
      fromMs: Math.min(span.fromMs, startedMs),
      toMs: Math.max(span.toMs, endedMs),
    });
  }
  return new Map([...spans].map(([session, { fromMs, toMs }]) => [session, toMs - fromMs]));
}

/** Replays in virtual time, with progress on stderr. */
export async function playerOf(flags: LogFlags): Promise<Play> {
  const bytesPerToken = number("bytes-per-token", flags.bytesPerToken, 0.05);
  const wasm = await buildFilter();
  const stop = interruption().signal;
  return async (arm: Arm, plan: ReplayPlan): Promise<Played> => {
    const { configuration } = arm;
    const driver = new VirtualDriver({
      ...{ wasm, bytesPerToken, workers: 2, gateways: 1, configuration },
    });
    const watcher = new ReplayProgress(arm.name, plan.limitMs);
    const run = await driver.run(arm.policy, plan, watcher, stop);
    const measures = measure(run);
    if (measures.requests === 0) {
      throw new Failure(`${arm.name}: no request succeeded in the measured time`);
    }
    return { measures, jobMs: jobsOf(run) };
  };
}
