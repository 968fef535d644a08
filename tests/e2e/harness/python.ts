// SPDX-License-Identifier: Apache-2.0
// Runs Python programs with pinned packages of their own.
import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { interpreterIn, pythonEnvironment } from "../../../envoy/python-environment.ts";
import { sha256 } from "./endpoint.ts";

/** The lines of a requirements file without comments. */
function requirementsOf(file: string): string[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"));
}

/** Packages are installed for one minor version of Python: another needs an environment of its own. */
function pythonVersion(): string {
  return spawnSync("python3", ["--version"], { encoding: "utf8" }).stdout ?? "";
}

/**
 * The interpreter of an environment with the packages of a requirements file, installed once.
 * @throws Failure when there is no Python or no package index
 */
export function pythonWith(requirementsFile: string): string {
  const requirements = requirementsOf(requirementsFile);
  const hash = sha256(`${pythonVersion()}${requirements.join("\n")}`).slice(0, 12);
  const folder = pythonEnvironment({
    name: `python-sdks-${hash}`,
    requirements,
    isWhole: (environment) => existsSync(interpreterIn(environment)),
    product: "Python SDKs",
  });
  return interpreterIn(folder);
}

/** What the program has written to its standard output; it must end well. */
export async function runPython(
  python: string,
  args: string[],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  const child = spawn(python, args, {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const code = await ended;
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}:\n${errors}`);
  return output;
}
