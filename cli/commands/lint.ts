// SPDX-License-Identifier: Apache-2.0
// The lint and format commands.
import { Failure } from "../failure.ts";
import { formatAll, runChecks } from "../linting/checks.ts";

/** @throws Failure when a check fails; its output is on stdout */
export async function lint(): Promise<void> {
  const failed: string[] = [];
  for (const { name, code, output } of await runChecks()) {
    if (code === 0) {
      console.log(`✔ ${name}`);
      continue;
    }
    failed.push(name);
    console.log(`✖ ${name}\n${output}`);
  }
  if (failed.length > 0) throw new Failure(`lint failed: ${failed.join(", ")}`);
}

/** @throws Failure when a file cannot be parsed */
export async function format(): Promise<void> {
  const { code, output } = await formatAll();
  if (output) process.stdout.write(output);
  if (code !== 0) throw new Failure("format failed");
}
