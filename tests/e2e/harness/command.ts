// SPDX-License-Identifier: Apache-2.0
// Runs commands of the command line in processes of their own: those that serve, and those that end.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { TestContext } from "node:test";
import { fromRoot } from "../../../cli/paths.ts";

const LAUNCHER = fromRoot("cli", "smetric-envoy.mjs");

/** Starts a command that serves until the test ends; answers its first line of output. */
export async function serve(t: TestContext, args: string[]): Promise<string> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(async () => {
    if (child.exitCode !== null) return;
    child.kill();
    await once(child, "exit");
  });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return line;
}

/** Where a server on this machine says that it listens. */
export function addressIn(line: string): string {
  const port = /:(\d+)$/.exec(line)?.[1];
  assert.ok(port, line);
  return `127.0.0.1:${port}`;
}

/** Starts mock GPUs; answers their addresses. */
export async function serveMockGpus(
  t: TestContext,
  count: number,
  flags: string[],
): Promise<string[]> {
  const addresses: string[] = [];
  for (let i = 0; i < count; i++) {
    addresses.push(addressIn(await serve(t, ["mock-gpu", "--port", "0", ...flags])));
  }
  return addresses;
}

/** Runs a command to its end, which must be a good one; answers what it printed. */
export async function runToEnd(args: string[], cwd = process.cwd()): Promise<string> {
  const child = spawn(process.execPath, [LAUNCHER, ...args], {
    cwd,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let [output, errors] = ["", ""];
  child.stdout.on("data", (piece: Buffer) => (output += String(piece)));
  child.stderr.on("data", (piece: Buffer) => (errors += String(piece)));
  const [code] = (await once(child, "close")) as [number];
  assert.equal(code, 0, `${args.join(" ")}\n${errors}`);
  return output;
}
