// SPDX-License-Identifier: Apache-2.0
// From the flags of `replay` to the fleet, how admission holds, and what disturbs the run.
import type { Disturbance, FleetPlan } from "../../lab/replay/drivers/driver.ts";
import { parseEvents } from "../../lab/replay/events.ts";
import {
  PRESET_NAMES,
  type PresetName,
  PRESETS,
  scaled,
} from "../../lab/mock-gpu/engine/step-cost.ts";
import { Failure } from "../failure.ts";
import { number, wholeNumber } from "../numbers.ts";
import { oneOf } from "../one-of.ts";
import type { ReplayOptions } from "./replay-flags.ts";

/** A global tier holds eight times the fleet's own caches unless said otherwise. */
const GLOBAL_TOKENS_FACTOR = 8;
/** vLLM's block on a real Envoy's mock GPUs; the trace's own, four times as quick, in virtual time. */
const BLOCK_TOKENS = { envoy: "16", virtual: "64" };

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

/** `--kv-tokens 300000,2000000` is dealt out to the endpoints in turn; the first is what a given capacity means. */
function cachesOf(
  options: ReplayOptions,
  preset: PresetName,
  endpoints: number,
): Pick<FleetPlan, "kvTokens" | "kvTokensEach"> {
  const texts = (options.kvTokens ?? String(PRESETS[preset].kvTokens)).split(",");
  const sizes = texts.map((text) => wholeNumber("kv-tokens", text, 1));
  if (sizes.length === 1) return { kvTokens: sizes[0]! };
  const each = Array.from({ length: endpoints }, (_, index) => sizes[index % sizes.length]!);
  return { kvTokens: sizes[0]!, kvTokensEach: each };
}

export function fleetOf(options: ReplayOptions, driver: "envoy" | "virtual"): FleetPlan {
  const preset = oneOf<PresetName>("preset", options.preset, PRESET_NAMES);
  const { endpoints, decodeEndpoints } = poolsOf(options);
  const { kvTokens, kvTokensEach } = cachesOf(options, preset, endpoints);
  const speed = number("gpu-speed", options.gpuSpeed, 0.01);
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
    ...(speed === 1 ? {} : { cost: scaled(PRESETS[preset].cost, speed) }),
    kvTokens,
    ...(kvTokensEach === undefined ? {} : { kvTokensEach }),
    blockTokens,
    globalTokens: globalGbps === 0 ? 0 : globalTokens,
    globalGbps,
  };
}

/** How admission holds, as the filter's configuration says it. */
export function holdingOf(options: ReplayOptions): { hold_limit_ms: number; order: string } {
  const seconds = number("hold-limit", options.holdLimit, 0);
  const order = oneOf("hold-order", options.holdOrder, ["fifo", "oldest-session"] as const);
  return { hold_limit_ms: Math.round(seconds * 1000), order };
}

/** @throws Failure for what is none, or has no effect beside the load */
export function disturbanceOf(options: ReplayOptions, endpoints: number): Disturbance {
  const events = options.events === undefined ? [] : parseEvents(options.events, endpoints);
  if (options.rate !== undefined && events.some(({ kind }) => kind === "sessions")) {
    throw new Failure(
      "--events: only a closed population has a number of sessions, leave --rate out",
    );
  }
  return {
    events,
    hidesUsage: oneOf("usage", options.usage, ["told", "hidden"] as const) === "hidden",
    falseReports: share("false-reports", options.falseReports),
    estimateError: share("estimate-error", options.estimateError),
    sessionsKeepGateway:
      oneOf("gateway-of", options.gatewayOf, ["call", "session"] as const) === "session",
  };
}

function share(flag: string, text: string): number {
  const value = number(flag, text, 0);
  if (value < 1) return value;
  throw new Failure(`--${flag} ${text}: a share below 1`);
}
