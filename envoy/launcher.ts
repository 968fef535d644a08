// SPDX-License-Identifier: Apache-2.0
// Starts a real Envoy with one of the bootstrap files, waits until it serves, and stops it.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { Failure } from "../cli/failure.ts";
import { loadBootstrap, type BootstrapOptions } from "./bootstrap.ts";
import { findEnvoy } from "./find-envoy.ts";

export { findEnvoy } from "./find-envoy.ts";

const READY_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 5_000;
const POLL_MS = 25;

export interface EnvoyOptions extends BootstrapOptions {
  /** Exactly this release; without it any usable Envoy. */
  version?: string;
  /** Worker threads (default 2). */
  concurrency?: number;
  /** `warning` unless given; the filter's own lines are logged from `info` on. */
  logLevel?: string;
}

export interface RunningEnvoy {
  /** Of the first listener, without a trailing slash. */
  url: string;
  /** Of every listener, by name. */
  urls: Record<string, string>;
  adminUrl: string;
  pid: number;
  /** Temporary folder with the bootstrap in use and the log; gone after `stop`. */
  folder: string;
  /** Counters and gauges by name; `filter` is a regular expression over the names. */
  stats(filter?: string): Promise<Record<string, number>>;
  /** Everything logged so far, also after `stop`. */
  log(): string;
  /** Settles when the process ends, with its exit code (null after a signal). */
  exited: Promise<number | null>;
  stop(): Promise<void>;
}

/** Envoy processes of this process: none may outlive it. */
const running = new Set<ChildProcess>();
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL");
});

/**
 * Starts Envoy on free ports of 127.0.0.1 and waits until it is ready (its endpoints are resolved and checked once).
 * @throws Failure with Envoy's own last errors when it ends before that
 */
export async function startEnvoy(options: EnvoyOptions): Promise<RunningEnvoy> {
  const bootstrap = loadBootstrap(options);
  const binary = await findEnvoy(options);
  const folder = mkdtempSync(join(tmpdir(), "smetric-envoy-"));
  const configFile = join(folder, "envoy.yaml");
  const logFile = join(folder, "envoy.log");
  const adminFile = join(folder, "admin-address");
  writeFileSync(configFile, stringify(bootstrap, { aliasDuplicateObjects: false }));
  const logDescriptor = openSync(logFile, "a");
  const child = spawn(
    binary,
    [
      ...["--config-path", configFile, "--admin-address-path", adminFile, "--disable-hot-restart"],
      ...["--concurrency", String(options.concurrency ?? 2)],
      ...["--log-level", options.logLevel ?? "warning", "--component-log-level", "wasm:info"],
    ],
    { stdio: ["ignore", logDescriptor, logDescriptor] },
  );
  closeSync(logDescriptor);
  running.add(child);
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
    child.once("error", () => resolve(null));
  });
  void exited.then(() => running.delete(child));
  let log: string | undefined; // Kept when the folder goes.
  const envoy: RunningEnvoy = {
    url: "",
    urls: {},
    adminUrl: "",
    pid: child.pid ?? 0,
    folder,
    stats: (filter) => readStats(envoy.adminUrl, filter),
    log: () => log ?? readFileSync(logFile, "utf8"),
    exited,
    stop: async () => {
      await stopProcess(child, exited);
      log ??= readFileSync(logFile, "utf8");
      rmSync(folder, { recursive: true, force: true });
    },
  };
  try {
    await waitUntilReady(envoy, adminFile);
  } catch (error) {
    const lines = lastErrors(envoy.log());
    await envoy.stop();
    const reason = error instanceof Error ? error.message : String(error);
    throw new Failure(lines === "" ? reason : `${reason}:\n${lines}`);
  }
  return envoy;
}

/**
 * Lets Envoy check a bootstrap without running it.
 * @throws Failure with Envoy's own words when it refuses
 */
export async function validateBootstrap(options: EnvoyOptions): Promise<void> {
  const binary = await findEnvoy(options);
  const folder = mkdtempSync(join(tmpdir(), "smetric-envoy-"));
  try {
    const file = join(folder, "envoy.yaml");
    writeFileSync(file, stringify(loadBootstrap(options), { aliasDuplicateObjects: false }));
    const args = ["--mode", "validate", "--log-level", "warning", "--config-path", file];
    const result = spawnSync(binary, args, { encoding: "utf8" });
    if (result.status === 0) return;
    throw new Failure(
      `Envoy refuses ${options.bootstrap}:\n${lastErrors(result.stderr + result.stdout)}`,
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function waitUntilReady(envoy: RunningEnvoy, adminFile: string): Promise<void> {
  let ended = false;
  void envoy.exited.then(() => (ended = true));
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!(await isReady(envoy, adminFile))) {
    if (ended) throw new Failure("Envoy ended while starting");
    if (performance.now() > deadline) {
      throw new Failure(`Envoy was not ready after ${READY_TIMEOUT_MS / 1000} s`);
    }
    await sleep(POLL_MS);
  }
  envoy.urls = await readListeners(envoy.adminUrl);
  envoy.url = Object.values(envoy.urls)[0] ?? "";
}

async function isReady(envoy: RunningEnvoy, adminFile: string): Promise<boolean> {
  if (!existsSync(adminFile)) return false;
  const address = readFileSync(adminFile, "utf8").trim();
  if (address === "") return false;
  envoy.adminUrl = `http://${address}`;
  try {
    const response = await fetch(`${envoy.adminUrl}/ready`);
    await response.text();
    return response.ok;
  } catch {
    return false; // The file is written a moment before the admin listener accepts.
  }
}

interface ListenersAnswer {
  listener_statuses?: {
    name: string;
    local_address: { socket_address: { address: string; port_value: number } };
  }[];
}

async function readListeners(adminUrl: string): Promise<Record<string, string>> {
  const response = await fetch(`${adminUrl}/listeners?format=json`);
  const answer = (await response.json()) as ListenersAnswer;
  const urls: Record<string, string> = {};
  for (const { name, local_address } of answer.listener_statuses ?? []) {
    urls[name] =
      `http://${local_address.socket_address.address}:${local_address.socket_address.port_value}`;
  }
  return urls;
}

async function readStats(adminUrl: string, filter?: string): Promise<Record<string, number>> {
  const query = filter === undefined ? "" : `?filter=${encodeURIComponent(filter)}`;
  const response = await fetch(`${adminUrl}/stats${query}`);
  const stats: Record<string, number> = {};
  for (const line of (await response.text()).split("\n")) {
    const colon = line.lastIndexOf(": ");
    const value = Number(line.slice(colon + 2));
    if (colon > 0 && Number.isFinite(value)) stats[line.slice(0, colon)] = value;
  }
  return stats;
}

/** What Envoy said last at level error or critical; everything it said last when there is none. */
function lastErrors(log: string): string {
  const lines = log.trim().split("\n");
  const errors = lines.filter((line) => /\[(error|critical)\]/.test(line));
  return (errors.length > 0 ? errors : lines).slice(-5).join("\n");
}

async function stopProcess(child: ChildProcess, exited: Promise<number | null>): Promise<void> {
  child.kill("SIGTERM");
  const impatience = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(impatience);
}
