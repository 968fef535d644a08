// SPDX-License-Identifier: Apache-2.0
// Compiles the probe filter, and a variant of it that no Envoy loads.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, renameSync } from "node:fs";
import { fromRoot } from "../../cli/paths.ts";

const SOURCE = "tests/fixtures/probe/probe.ts";
const SOURCES = [SOURCE, "tests/fixtures/probe/edges.ts", "tests/fixtures/probe/host.ts"];

/** Modules that this process has compiled or is compiling, by name. */
const modules = new Map<string, Promise<string>>();
const CONFIG = "tests/fixtures/probe/asconfig.json"; // Without it the filter's own would be used.

async function compile(name: string, options: string[]): Promise<string> {
  const hash = createHash("sha256").update(options.join());
  for (const source of SOURCES) hash.update(readFileSync(fromRoot(source)));
  const digest = hash.digest("hex");
  const output = fromRoot("build", `${name}.${digest.slice(0, 12)}.wasm`);
  if (existsSync(output)) return output;
  mkdirSync(fromRoot("build"), { recursive: true });
  const { default: asc } = await import("assemblyscript/asc");
  const partial = `build/${name}.${process.pid}.wasm`; // Test files compile side by side.
  const base = ["--config", CONFIG, "--baseDir", fromRoot("."), "--outFile", partial];
  const { error, stderr } = await asc.main([SOURCE, ...base, ...options]);
  if (error) throw new Error(`the probe does not compile: ${error.message}\n${stderr.toString()}`);
  renameSync(fromRoot(partial), output);
  return output;
}

function compileOnce(name: string, options: string[]): Promise<string> {
  let module = modules.get(name);
  if (module === undefined) modules.set(name, (module = compile(name, options)));
  return module;
}

/** @returns path of the probe module */
export async function buildProbe(): Promise<string> {
  return compileOnce("probe", ["--use", "abort=tests/fixtures/probe/probe/onAbort"]);
}

/** @returns path of a module that imports env.abort, which Envoy does not offer */
export async function buildUnloadable(): Promise<string> {
  return compileOnce("unloadable", []);
}
