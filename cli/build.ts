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

function digestSources(): string {
  const hash = createHash("sha256");
  const files = [fromRoot("asconfig.json"), fromRoot("package-lock.json")];
  for (const file of [...files, ...listSources(fromRoot("assembly"))]) {
    hash.update(file).update(readFileSync(file));
  }
  return hash.digest("hex");
}

/**
 * Builds the filter if any source changed since the last build.
 * @returns absolute path of the Wasm module
 * @throws Failure when the compiler reports errors (they are on stderr)
 */
export async function buildFilter(target: FilterTarget = "release"): Promise<string> {
  const output = fromRoot(OUTPUT[target]);
  if (!existsSync(fromRoot("assembly", "index.ts"))) return output; // An installed package ships the module.
  const stamp = `${output}.sources`;
  const digest = digestSources();
  const fresh = existsSync(output) && existsSync(stamp) && readFileSync(stamp, "utf8") === digest;
  if (fresh) return output;
  process.stderr.write(`smetric-envoy: compiling the filter (${target}) ...\n`);
  mkdirSync(fromRoot("build"), { recursive: true });
  const { default: asc } = await import("assemblyscript/asc");
  // Others may load the module meanwhile: it appears under its name only when it is whole.
  const unfinished = `${OUTPUT[target]}.${process.pid}`;
  const options = ["--config", "asconfig.json", "--target", target, "--baseDir", fromRoot(".")];
  options.push("--outFile", unfinished);
  const { error, stderr } = await asc.main(["assembly/index.ts", ...options]);
  const messages = stderr.toString();
  if (messages) process.stderr.write(messages);
  if (error) throw new Failure(`the filter does not compile: ${error.message}`);
  renameSync(fromRoot(unfinished), output);
  writeFileSync(stamp, digest);
  return output;
}
