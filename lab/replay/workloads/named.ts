// SPDX-License-Identifier: Apache-2.0
// Workloads by the names that `--trace` takes.
import { existsSync } from "node:fs";
import { Failure } from "../../../cli/failure.ts";
import { airlineSource } from "./airline.ts";
import { madeUpApps } from "./apps.ts";
import { codingSource } from "./coding-agent.ts";
import { bfclSource, latsSource, mixedSource, sharegptSource } from "./generators.ts";
import type { SessionSource } from "./session.ts";
import { traceFileSource } from "./trace-file.ts";

export interface WorkloadOptions {
  seed: number;
  /** Factor on token counts of made-up text. */
  tokenScale: number;
  starts: "genuine" | "resumed" | "all";
  half?: "even" | "odd";
}

/** As the trace's own replayer does. */
const CONTEXT_CAP_TOKENS = 128_000;
const GAP_CAP_MS = 60_000;
/** Answers of the flat trace are cut here. */
const ANSWER_CAP_TOKENS = 2_000;
/** The top quarter of the sessions then hold more than 80 % of the tokens, as SMetric reports of its fleet. */
const WEIGHT_EXPONENT = -0.9;
/** Applications of the coding-agent traces, and tokens of each one's head. */
export const APPS = 5;
export const HEAD_TOKENS = 15_000;

type Build = (options: WorkloadOptions) => SessionSource;

/** The coding-agent trace, as its own replayer caps it. */
function codingAgent(
  { seed, tokenScale, starts, half }: WorkloadOptions,
  shape: { weightExponent: number; answerCapTokens?: number; ownHeads?: boolean },
): SessionSource {
  return codingSource({
    seed,
    starts,
    half,
    tokenScale,
    apps: madeUpApps(APPS, Math.round(HEAD_TOKENS * tokenScale)),
    contextCapTokens: CONTEXT_CAP_TOKENS * tokenScale,
    callCap: Infinity,
    gapCapMs: GAP_CAP_MS,
    ...shape,
  });
}

/** Each session as often as any other, without the longest answers. */
function flatCodingAgent(options: WorkloadOptions, ownHeads: boolean): SessionSource {
  const answerCapTokens = ANSWER_CAP_TOKENS * options.tokenScale;
  return codingAgent(options, { weightExponent: 0, answerCapTokens, ownHeads });
}

const WORKLOADS: Record<string, Build> = {
  "coding-agent": (options) => codingAgent(options, { weightExponent: WEIGHT_EXPONENT }),
  "coding-agent-flat": (options) => flatCodingAgent(options, false),
  "coding-agent-own-heads": (options) => flatCodingAgent(options, true),
  airline: ({ seed }) => airlineSource({ seed, gapCapMs: GAP_CAP_MS }),
  lats: ({ seed }) => latsSource({ seed, gapCapMs: GAP_CAP_MS }),
  bfcl: ({ seed }) => bfclSource({ seed, gapCapMs: GAP_CAP_MS }),
  sharegpt: ({ seed }) => sharegptSource({ seed, gapCapMs: GAP_CAP_MS }),
  mixed: (options) => workloadNamed("lats+bfcl+sharegpt", options),
};

const WORKLOAD_NAMES: readonly string[] = Object.keys(WORKLOADS);

function oneWorkload(name: string, options: WorkloadOptions): SessionSource {
  const build = WORKLOADS[name];
  if (build !== undefined) return build(options);
  if (existsSync(name)) return traceFileSource(name, { seed: options.seed, gapCapMs: GAP_CAP_MS });
  throw new Failure(`--trace ${name}: neither a file nor one of ${WORKLOAD_NAMES.join(", ")}`);
}

/**
 * The workload of a name, of a file, or of several joined by `+`, whose sessions then come in turn.
 * @throws Failure for a name that is neither
 */
export function workloadNamed(name: string, options: WorkloadOptions): SessionSource {
  const sources = name.split("+").map((part) => oneWorkload(part, options));
  return sources.length === 1 ? sources[0]! : mixedSource(name, sources);
}
