// SPDX-License-Identifier: Apache-2.0
// Runs as-pect specs, one process a file: a spec that does not compile hides no other.
import { stripVTControlCharacters } from "node:util";
import { runTool } from "../tool.ts";
import type { Tally } from "./tally.ts";

const ASPECT = "node_modules/@as-pect/cli/lib/test.js";

async function runSpec(file: string, tally: Tally, write: (text: string) => void): Promise<void> {
  const { code, output } = await runTool(ASPECT, ["--summary"], { SMETRIC_SPEC: file });
  const text = stripVTControlCharacters(output);
  const counts = /\[Tests\]:\s*(\d+) \/ (\d+)/.exec(text);
  if (counts === null) {
    write(`✖ ${file}\n`);
    tally.fail(file, withoutBanner(text) || "as-pect ended without a word");
    return;
  }
  const passed = Number(counts[1]);
  const total = Number(counts[2]);
  tally.passed += passed;
  if (code === 0 && passed === total && total > 0) {
    write(`✔ ${file} (${total})\n`);
    return;
  }
  write(`✖ ${file} (${total - passed} of ${total} failed)\n`);
  const detail = total === 0 ? "no tests in this file" : withoutBanner(text);
  for (let i = 0; i < Math.max(1, total - passed); i++) {
    tally.fail(file, i === 0 ? detail : "see above");
  }
}

/** as-pect opens with its logo and a few lines about itself, and closes with a summary block. */
function withoutBanner(text: string): string {
  const body = text.split(/ASC Version: .*\n/)[1] ?? text;
  return body.replace(/\n\s*\[Summary\][\s\S]*?\[Result\]:.*\n/, "\n").trim();
}

/** Runs the given spec files, `concurrency` at a time. */
export async function runUnitSpecs(
  files: string[],
  concurrency: number,
  tally: Tally,
  write: (text: string) => void,
): Promise<void> {
  const queue = [...files];
  const lane = async (): Promise<void> => {
    for (let file = queue.shift(); file !== undefined; file = queue.shift()) {
      await runSpec(file, tally, write);
    }
  };
  await Promise.all(Array.from({ length: concurrency }, lane));
}
