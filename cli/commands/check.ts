// SPDX-License-Identifier: Apache-2.0
// The check command: finds what will not load, will not route, or will hurt later.
import { readFileSync } from "node:fs";
import { checkText } from "../checking/documents.ts";
import { Failure } from "../failure.ts";

export interface CheckOptions {
  /** Warnings fail as well. */
  strict?: boolean;
}

function readFile(file: string): string {
  try {
    return readFileSync(file === "-" ? 0 : file, "utf8");
  } catch (fault) {
    throw new Failure(`${file} cannot be read: ${fault instanceof Error ? fault.message : ""}`);
  }
}

/**
 * Prints one line for each finding.
 * @throws Failure when an error was found, or with `strict` a warning
 */
export function check(files: string[], { strict = false }: CheckOptions): void {
  let errors = 0;
  let warnings = 0;
  for (const file of files) {
    const { kind, findings } = checkText(readFile(file));
    for (const { severity, where, message } of findings) {
      console.log(`${file}: ${severity}: ${where}: ${message}`);
      if (severity === "error") errors++;
      else warnings++;
    }
    if (findings.length === 0) console.log(`${file}: ok (${kind})`);
  }
  if (errors > 0 || (strict && warnings > 0)) {
    throw new Failure(`${errors} errors, ${warnings} warnings`);
  }
}
