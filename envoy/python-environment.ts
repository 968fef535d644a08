// SPDX-License-Identifier: Apache-2.0
// Virtual environments of pinned Python packages, each installed once into the cache folder.
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Failure } from "../cli/failure.ts";
import { fromRoot } from "../cli/paths.ts";

export interface PythonEnvironment {
  /** Folder name below the cache folder; it changes whenever the packages change. */
  name: string;
  /** Packages as pip reads them, with exact versions. */
  requirements: string[];
  /** Whether an environment holds what it is for; one that does not is made anew. */
  isWhole(folder: string): boolean;
  /** What is absent when the installation fails, for the message. */
  product: string;
  /** What the user can do instead of installing, appended to the message. */
  alternative?: string;
}

/** Where things are kept that are downloaded once. */
function cacheFolder(): string {
  return process.env["SMETRIC_CACHE"] ?? fromRoot(".cache");
}

/** The interpreter of an environment. */
export function interpreterIn(folder: string): string {
  return join(folder, "bin", "python3");
}

/**
 * Answers the folder of an environment, installed unless it is there, below `$SMETRIC_CACHE` (default `.cache/`). Installs beside the final place and renames, so
 * that two processes cannot meet a half-made environment.
 * @throws Failure when it cannot be installed, saying what to do
 */
export function pythonEnvironment(wanted: PythonEnvironment): string {
  const folder = join(cacheFolder(), wanted.name);
  if (wanted.isWhole(folder)) return folder;
  const packages = wanted.requirements.join(", ");
  process.stderr.write(`smetric-envoy: installing ${packages} into ${folder} ...\n`);
  mkdirSync(cacheFolder(), { recursive: true });
  const draft = mkdtempSync(`${folder}.`);
  try {
    install(wanted, draft);
    if (!wanted.isWhole(draft)) throw new Failure(`${packages} contains no ${wanted.product}`);
    if (!wanted.isWhole(folder)) {
      rmSync(folder, { recursive: true, force: true });
      renameSync(draft, folder);
    }
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

function install(wanted: PythonEnvironment, draft: string): void {
  const { requirements, product, alternative = "" } = wanted;
  run(["python3", "-m", "venv", draft], {
    product,
    advice: `install Python 3 with its venv module (Debian: apt install python3-venv)${alternative}`,
  });
  const options = ["--quiet", "--disable-pip-version-check", "--only-binary", ":all:"];
  run([interpreterIn(draft), "-m", "pip", "install", ...options, ...requirements], {
    product,
    advice: `the package index must be reachable and have wheels for this machine${alternative}`,
  });
}

function run(
  [command = "", ...args]: string[],
  { product, advice }: { product: string; advice: string },
): void {
  const result = spawnSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
  if (result.error === undefined && result.status === 0) return;
  const said = result.error?.message ?? `${result.stdout}${result.stderr}`;
  const lastLine = said.trim().split("\n").filter(Boolean).pop() ?? `exit code ${result.status}`;
  throw new Failure(`no ${product}: ${command} failed (${lastLine.trim()}); ${advice}`);
}
