// SPDX-License-Identifier: Apache-2.0
// The generate command: rewrites the files that are written by code.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { generateFiles } from "../generating/generated-files.ts";
import { fromRoot } from "../paths.ts";

/** Writes every generated file and prints its path. */
export async function generate(): Promise<void> {
  for (const { path, content } of await generateFiles()) {
    mkdirSync(dirname(fromRoot(path)), { recursive: true });
    writeFileSync(fromRoot(path), content);
    console.log(path);
  }
}
