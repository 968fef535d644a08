// SPDX-License-Identifier: Apache-2.0
// Compiles the filters that smetric is measured against.
import { mkdirSync, renameSync } from "node:fs";
import { Failure } from "../../cli/failure.ts";
import { fromRoot } from "../../cli/paths.ts";

export type YardstickFilter = "empty" | "copy" | "calls" | "chained-calls" | "timed";

const PLAIN = ["--config", "none", "--runtime", "stub", "-O3", "--noAssert", "--use", "abort="];
/** Of the shipped filter. */
const RELEASE = ["--config", "asconfig.json", "--target", "release"];

/**
 * @returns absolute path of the Wasm module
 * @throws Failure when it does not compile
 */
export async function buildYardstick(name: YardstickFilter): Promise<string> {
  const { default: asc } = await import("assemblyscript/asc");
  const output = `build/bench-${name}.wasm`;
  const unfinished = `${output}.${process.pid}`;
  mkdirSync(fromRoot("build"), { recursive: true });
  const { error, stderr } = await asc.main([
    `lab/bench/filters/${name}.ts`,
    ...(name === "timed" ? RELEASE : PLAIN),
    ...["--baseDir", fromRoot("."), "--outFile", unfinished],
  ]);
  if (error) throw new Failure(`filter ${name} does not compile: ${stderr.toString()}`);
  renameSync(fromRoot(unfinished), fromRoot(output));
  return fromRoot(output);
}
