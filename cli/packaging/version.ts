// SPDX-License-Identifier: Apache-2.0
// The version of this package, as package.json has it.
import { readFileSync } from "node:fs";
import { fromRoot } from "../paths.ts";

/** Semantic version, without a leading v. */
export function version(): string {
  const { version } = JSON.parse(readFileSync(fromRoot("package.json"), "utf8")) as {
    version: string;
  };
  return version;
}
