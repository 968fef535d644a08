// SPDX-License-Identifier: Apache-2.0
// The flags of `smetric-envoy replay`: defaults, and which of them mean nothing beside which others.
import type { Command } from "commander";
import { Failure } from "../failure.ts";

/** What is given on the command line; `undefined` where the user says nothing. */
export interface ReplayFlags {
  trace?: string;
  driver?: string;
  policies?: string;
  endpoints?: string;
  sessions?: string;
  rate?: string;
  minutes?: string;
  admission?: string;
  holdLimit?: string;
  holdOrder?: string;
  events?: string;
  usage?: string;
  falseReports?: string;
  estimateError?: string;
  gatewayOf?: string;
  preset?: string;
  gpuSpeed?: string;
  kvTokens?: string;
  globalGbps?: string;
  globalTokens?: string;
  blockTokens?: string;
  bytesPerToken?: string;
  tokenScale?: string;
  starts?: string;
  speedup?: string;
  pd?: string;
  /** A running gateway; nothing else is started then. */
  url?: string;
  gateways?: string;
  seeds?: string;
  seed?: string;
  /** File for what the filter records of each request. */
  records?: string;
  json?: string;
  html?: string;
}

/** Kept out of commander, which does not tell a default from what the user gave. */
const DEFAULTS = {
  trace: "coding-agent",
  driver: "virtual",
  policies: "priced,sticky,least-request",
  endpoints: "8",
  minutes: "15",
  admission: "off",
  holdLimit: "300",
  holdOrder: "fifo",
  usage: "told",
  falseReports: "0",
  estimateError: "0",
  gatewayOf: "call",
  preset: "30b-a3b-h20",
  gpuSpeed: "1",
  globalGbps: "0",
  bytesPerToken: "0.5",
  tokenScale: "1",
  starts: "genuine",
  speedup: "10",
  gateways: "1",
  seeds: "1",
  seed: "1",
};

/** Flags with their defaults filled in. */
export type ReplayOptions = ReplayFlags & typeof DEFAULTS;

type Flag = keyof ReplayFlags;

/** What an attached gateway leaves to choose. */
const ATTACHED: Flag[] = ["url", "sessions", "speedup", "seed", "json"];

function nameOf(flag: string): string {
  return flag.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The trace itself, or the one that takes each of its sessions as often. */
function isOfCodingAgents(trace: string): boolean {
  return trace.split("+").some((name) => name.startsWith("coding-agent"));
}

/** Flags that have no effect in this combination, each with the reason. */
function ignoredFlags(given: ReplayFlags, options: ReplayOptions): [Flag, string][] {
  if (given.url !== undefined) {
    const others = (Object.keys(given) as Flag[]).filter((flag) => !ATTACHED.includes(flag));
    return others.map((flag) => [flag, "means nothing with --url, the gateway is given"]);
  }
  const onVirtual = "only --driver virtual has it";
  const onTrace = "only the coding-agent trace has it";
  const ignored: [Flag, string, boolean][] = [
    ["gateways", onVirtual, options.driver === "envoy"],
    ["bytesPerToken", onVirtual, options.driver === "envoy"],
    ["pd", onVirtual, options.driver === "envoy"],
    ["gpuSpeed", onVirtual, options.driver === "envoy"],
    ["events", onVirtual, options.driver === "envoy"],
    ["events", "endpoints of a disaggregated fleet do not change", given.pd !== undefined],
    ["usage", onVirtual, options.driver === "envoy"],
    ["falseReports", onVirtual, options.driver === "envoy"],
    ["estimateError", onVirtual, options.driver === "envoy"],
    ["gatewayOf", onVirtual, options.driver === "envoy"],
    ["gatewayOf", "give --gateways as well", options.gateways === "1"],
    ["holdLimit", "give --admission as well", options.admission === "off"],
    ["holdOrder", "give --admission as well", options.admission === "off"],
    ["speedup", "only --driver envoy has it", options.driver === "virtual"],
    ["endpoints", "--pd gives the endpoints", given.pd !== undefined],
    ["globalTokens", "give --global-gbps as well", !(Number(options.globalGbps) > 0)],
    ["tokenScale", onTrace, !isOfCodingAgents(options.trace)],
    ["starts", onTrace, !isOfCodingAgents(options.trace)],
  ];
  return ignored
    .filter(([flag, , isIgnored]) => isIgnored && given[flag] !== undefined)
    .map(([flag, why]) => [flag, why]);
}

/**
 * Fills in the defaults.
 * @throws Failure naming a flag that would have no effect
 */
export function withDefaults(flags: ReplayFlags): ReplayOptions {
  const entries = Object.entries(flags).filter(([, value]) => value !== undefined);
  const given = Object.fromEntries(entries) as ReplayFlags;
  const options: ReplayOptions = { ...DEFAULTS, ...given };
  const [ignored] = ignoredFlags(given, options);
  if (ignored !== undefined) throw new Failure(`--${nameOf(ignored[0])}: ${ignored[1]}`);
  return options;
}

function add(command: Command, flag: keyof typeof DEFAULTS, argument: string, text: string): void {
  const said = `${text} (default: ${DEFAULTS[flag]})`;
  command.option(`--${nameOf(flag)} ${argument}`, said);
}

function addLoadFlags(command: Command): void {
  add(command, "trace", "<name|file>", "workload");
  add(command, "driver", "<name>", "envoy (real, time-scaled) or virtual");
  add(command, "policies", "<list>", "arms, separated by commas");
  command
    .option("--sessions <n>", "closed loop: sessions at any time (default: 100)")
    .option("--rate <r>", "open loop: new sessions per second");
  add(command, "minutes", "<m>", "simulated minutes; the first third is warm-up");
  add(command, "tokenScale", "<s>", "factor on the coding-agent trace's token counts");
  add(command, "starts", "<kind>", "sessions of the coding-agent trace: genuine, resumed, all");
}

function addAdmissionFlags(command: Command): void {
  add(command, "admission", "<list>", "off, learned, given, fixed:<share of capacity>, aimd");
  add(command, "holdLimit", "<s>", "seconds after which a held request is let through, 0 for none");
  add(command, "holdOrder", "<order>", "who goes first: fifo, oldest-session");
}

/** What goes wrong or changes, in virtual time. */
function addDisturbanceFlags(command: Command): void {
  command.option("--events <list>", "in virtual time, what happens when (see docs/replay.md)");
  add(command, "usage", "<how>", "in virtual time, whether engines report usage: told, hidden");
  add(command, "falseReports", "<share>", "in virtual time, answers that report nothing cached");
  add(command, "estimateError", "<share>", "in virtual time, by how much sessions' text differs");
  add(command, "gatewayOf", "<what>", "in virtual time, what keeps to a gateway: call, session");
}

function addFleetFlags(command: Command): void {
  add(command, "endpoints", "<n>", "endpoints");
  add(command, "preset", "<name>", "GPU and model");
  add(command, "gpuSpeed", "<x>", "in virtual time, how much faster the GPUs are than the preset");
  command.option(
    "--kv-tokens <n>",
    "KV cache of one endpoint in tokens, several are dealt out (default: that of the preset)",
  );
  add(
    command,
    "globalGbps",
    "<g>",
    "bandwidth of a global KV tier in GB/s for the fleet, 0 for none",
  );
  command
    .option("--global-tokens <n>", "size of the global tier in tokens for the fleet")
    .option("--block-tokens <n>", "tokens per KV block (default: 64 in virtual time, 16 on Envoy)")
    .option(
      "--pd <p:d>",
      "in virtual time, a disaggregated fleet: endpoints that prefill, and engines that decode",
    );
  add(command, "gateways", "<n>", "in virtual time, gateways that share nothing");
}

/** Declares the flags. */
export function addReplayFlags(command: Command): Command {
  addLoadFlags(command);
  addAdmissionFlags(command);
  addFleetFlags(command);
  addDisturbanceFlags(command);
  add(command, "bytesPerToken", "<b>", "in virtual time, body bytes per token");
  add(command, "speedup", "<s>", "on a real Envoy, simulated seconds per second");
  command.option("--url <url>", "attach to a running gateway (the demo's agents, one arm)");
  add(command, "seeds", "<n>", "repeat with this many seeds and report the means");
  add(command, "seed", "<n>", "seed of everything random");
  return command
    .option(
      "--records <file>",
      "write the filter's records of one policy and one seed; it observes Envoy's own balancers",
    )
    .option("--json <file>", "write configuration and all measures to a file")
    .option("--html <file>", "write a page with charts");
}
