// SPDX-License-Identifier: Apache-2.0
// The check command: finds what will not load, will not route, or will hurt later.
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
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

/** What lies in a folder, where it is one: a folder that `init` wrote holds the module as well. */
function filesIn(path: string): string[] {
  if (path === "-" || !statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [path];
  const names = readdirSync(path).filter((name) => /\.(ya?ml|json)$/.test(name));
  if (names.length === 0) throw new Failure(`${path} holds no YAML and no JSON`);
  return names.sort().map((name) => join(path, name));
}

/**
 * Prints one line for each finding.
 * @param paths files, folders of files, or - for stdin
 * @throws Failure when an error was found, or with `strict` a warning
 */
export function check(paths: string[], { strict = false }: CheckOptions): void {
  let errors = 0;
  let warnings = 0;
  for (const file of paths.flatMap(filesIn)) {
    const { kind, findings, passedOver } = checkText(readFile(file));
    for (const { severity, where, message } of findings) {
      console.log(`${file}: ${severity}: ${where}: ${message}`);
      if (severity === "error") errors++;
      else warnings++;
    }
    if (findings.length > 0) continue;
    const passed =
      passedOver === undefined ? `ok (${kind})` : `no rules for ${passedOver.join(", ")}`;
    console.log(`${file}: ${passed}`);
  }
  if (errors > 0 || (strict && warnings > 0)) {
    throw new Failure(`${errors} errors, ${warnings} warnings`);
  }
}
