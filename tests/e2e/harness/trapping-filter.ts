// SPDX-License-Identifier: Apache-2.0
// Compiles the filter that traps on demand.
import { renameSync } from "node:fs";
import { buildFilter } from "../../../cli/build.ts";
import { fromRoot } from "../../../cli/paths.ts";

const SOURCE = "tests/fixtures/trapping/trapping-filter.ts";
const OUTPUT = "build/trapping.wasm";

/** @returns path of the module; compiled anew each time, because it contains all of the filter */
export async function buildTrappingFilter(): Promise<string> {
  await buildFilter(); // Says what is wrong when the filter itself does not compile.
  const { default: asc } = await import("assemblyscript/asc");
  const partial = `${OUTPUT}.${process.pid}`;
  const options = ["--config", "tests/fixtures/trapping/asconfig.json", "--baseDir", fromRoot(".")];
  const { error, stderr } = await asc.main([SOURCE, ...options, "--outFile", partial]);
  if (error) throw new Error(`${SOURCE} does not compile: ${error.message}\n${stderr.toString()}`);
  renameSync(fromRoot(partial), fromRoot(OUTPUT));
  return fromRoot(OUTPUT);
}
