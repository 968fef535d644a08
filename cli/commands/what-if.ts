// SPDX-License-Identifier: Apache-2.0
// `what-if`: what the filter would make of a user's own traffic, in words, a table and a page.
import { readFileSync } from "node:fs";
import { joinArm } from "../../lab/replay/admission/arms.ts";
import { FILTER_POLICIES } from "../../lab/replay/drivers/virtual/virtual-driver.ts";
import { snakeCase } from "../../lab/replay/report/report.ts";
import { answerOf } from "../../lab/what-if/answer.ts";
import { contextShare } from "../../lab/what-if/contexts.ts";
import { capacityFinding } from "../../lab/what-if/fleet.ts";
import { renderWhatIf, type WhatIfReport } from "../../lab/what-if/html.ts";
import { type Arm, runStudy } from "../../lab/what-if/study.ts";
import { renderLoads } from "../../lab/what-if/table.ts";
import { Failure } from "../failure.ts";
import { number } from "../numbers.ts";
import { requireWritable, writeJson, writeOutput } from "../output-file.ts";
import { armOf, settled, playerOf, situationOf } from "../replaying/log-situation.ts";
import type { LogFlags } from "../replaying/what-if-flags.ts";

export interface WhatIfFlags extends LogFlags {
  loads: string;
  /** File with the filter's configuration. */
  config?: string;
  html?: string;
}

function loadsOf(text: string): number[] {
  const loads = text.split(",").map((load) => number("loads", load, 0.05, 20));
  return [...new Set(loads)].sort((a, b) => a - b);
}

/** The filter as it would be switched on: its defaults, or a configuration of the user's. */
function oursOf(file: string | undefined): Arm {
  if (file === undefined) return { name: "with the filter", policy: "priced", configuration: {} };
  let value: unknown;
  try {
    value = JSON.parse(readFileSync(file, "utf8"));
  } catch (fault) {
    throw new Failure(`${file}: ${fault instanceof Error ? fault.message : String(fault)}`);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw new Failure(`${file}: a configuration is a JSON object`);
  }
  const { mode, policy = "priced", ...configuration } = value as Record<string, unknown>;
  if (mode === "observe") throw new Failure(`${file}: mode "observe" routes nothing`);
  if (typeof policy !== "string" || !FILTER_POLICIES.includes(policy)) {
    throw new Failure(
      `${file}: policy ${String(policy)}: allowed are ${FILTER_POLICIES.join(", ")}`,
    );
  }
  const { enabled = false } = (configuration["admission"] ?? {}) as { enabled?: boolean };
  const arm = joinArm(policy, enabled ? "learned" : "off");
  return { name: "with the filter", policy: arm, configuration };
}

/** Everything that can be wrong about log and flags is said before anything runs. */
export async function whatIf(file: string, flags: WhatIfFlags): Promise<void> {
  requireWritable("json", flags.json);
  requireWritable("html", flags.html);
  const loads = loadsOf(flags.loads);
  const ours = oursOf(flags.config);
  const found = situationOf(file, flags);
  const play = await playerOf(flags);
  const situation = await settled(found, play);
  const { log, present, seeds, fleet } = situation;
  const points = await runStudy(log, { fleet, loads, seeds, now: armOf(present), ours }, play);
  const answer = answerOf({
    ...{ log, observed: situation.observed, present, points },
    fleet: [...situation.findings, capacityFinding(situation)],
    contextShare: contextShare(log, fleet),
  });
  console.log(renderLoads(points));
  for (const sentence of answer) console.log(sentence);
  const config = snakeCase({
    ...{ log: log.name, now: present.arm, seeds: seeds.length },
    ...{ endpoints: fleet.endpoints, kvTokens: fleet.kvTokens, preset: fleet.preset },
    ...(fleet.cost === undefined ? {} : { cost: fleet.cost }),
  });
  const report: WhatIfReport = { config, answer, loads: points };
  if (flags.json !== undefined) writeJson("json", flags.json, report);
  if (flags.html !== undefined) writeOutput("html", flags.html, await renderWhatIf(report));
}
