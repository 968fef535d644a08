// SPDX-License-Identifier: Apache-2.0
// Compiles the filter when its sources are newer than the last build.
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { Failure } from "./failure.ts";
import { fromRoot } from "./paths.ts";

export type FilterTarget = "release" | "debug";

/** A part of the filter as a module of its own, for benches and for tests that compare it with something plain. */
interface Part {
  what: string;
  entry: string;
  output: string;
}

const READER: Part = {
  what: "the request reader",
  entry: "tests/unit/request/reader-module.ts",
  output: "build/reader.wasm",
};

const PICK: Part = {
  what: "the pick",
  entry: "tests/unit/scheduling/pick-module.ts",
  output: "build/pick.wasm",
};

const OUTPUT: Record<FilterTarget, string> = {
  release: "build/smetric.wasm",
  debug: "build/smetric.debug.wasm",
};

function listSources(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
}

function digestSources(...extra: string[]): string {
  const hash = createHash("sha256");
  const files = [fromRoot("asconfig.json"), fromRoot("package-lock.json"), ...extra];
  for (const file of [...files, ...listSources(fromRoot("assembly"))]) {
    hash.update(file).update(readFileSync(file));
  }
  return hash.digest("hex");
}

function isFresh(output: string, digest: string): boolean {
  const stamp = stampOf(output);
  return existsSync(output) && existsSync(stamp) && readFileSync(stamp, "utf8") === digest;
}

function stampOf(output: string): string {
  return `${output}.sources`;
}

/** @param output path of the module below the package root */
async function compile(
  what: string,
  output: string,
  digest: string,
  args: string[],
): Promise<void> {
  process.stderr.write(`smetric-envoy: compiling ${what} ...\n`);
  mkdirSync(fromRoot("build"), { recursive: true });
  const { default: asc } = await import("assemblyscript/asc");
  // Others may load the module meanwhile: it appears under its name only when it is whole.
  const unfinished = `${output}.${process.pid}`;
  const fixed = ["--baseDir", fromRoot("."), "--outFile", unfinished];
  const { error, stderr } = await asc.main([...args, ...fixed]);
  const messages = stderr.toString();
  if (messages) process.stderr.write(messages);
  if (error) throw new Failure(`${what} does not compile: ${error.message}`);
  renameSync(fromRoot(unfinished), fromRoot(output));
  writeFileSync(stampOf(fromRoot(output)), digest);
}

/**
 * Builds the filter if any source changed since the last build.
 * @returns absolute path of the Wasm module
 * @throws Failure when the compiler reports errors (they are on stderr)
 */
export async function buildFilter(target: FilterTarget = "release"): Promise<string> {
  const output = fromRoot(OUTPUT[target]);
  if (!existsSync(fromRoot("assembly", "index.ts"))) return output; // An installed package ships the module.
  const digest = digestSources();
  if (isFresh(output, digest)) return output;
  const args = ["assembly/index.ts", "--config", "asconfig.json", "--target", target];
  await compile(`the filter (${target})`, OUTPUT[target], digest, args);
  return output;
}

interface CompilerConfig {
  options: { runtime: string; enable: string[] };
  targets: { release: { optimizeLevel: number; shrinkLevel: number } };
}

async function buildPart({ what, entry, output }: Part): Promise<string> {
  const digest = digestSources(fromRoot(entry));
  if (isFresh(fromRoot(output), digest)) return fromRoot(output);
  const config = JSON.parse(readFileSync(fromRoot("asconfig.json"), "utf8")) as CompilerConfig;
  const { optimizeLevel, shrinkLevel } = config.targets.release;
  const args = [entry, "--config", "none"];
  args.push("--runtime", config.options.runtime, "--converge", "--noAssert", "--use", "abort=");
  args.push("--optimizeLevel", `${optimizeLevel}`, "--shrinkLevel", `${shrinkLevel}`);
  for (const feature of config.options.enable) args.push("--enable", feature);
  await compile(what, output, digest, args);
  return fromRoot(output);
}

/**
 * Builds the request reader as a module of its own, with the flags of the release.
 * @returns absolute path of the Wasm module
 * @throws Failure when the compiler reports errors (they are on stderr)
 */
export async function buildReader(): Promise<string> {
  return buildPart(READER);
}

/**
 * Builds the pick of the default policy as a module of its own, with the flags of the release.
 * @returns absolute path of the Wasm module
 * @throws Failure when the compiler reports errors (they are on stderr)
 */
export async function buildPick(): Promise<string> {
  return buildPart(PICK);
}
