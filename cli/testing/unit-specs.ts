// SPDX-License-Identifier: Apache-2.0
// Runs as-pect specs: many in one process, because the compiler is quicker once it is warm.
import { stripVTControlCharacters } from "node:util";
import { runTool } from "../tool.ts";
import type { Tally } from "./tally.ts";

const ASPECT = "node_modules/@as-pect/cli/lib/test.js";

/** as-pect's report on one file; failures follow it until the next file's line. */
const FILE_LINE = /^(?:✔|❌) (\S+) Pass: (\d+) \/ (\d+) .*$/gm;

interface FileReport {
  passed: number;
  total: number;
  detail: string;
}

/** Reports by file, as far as as-pect got. */
function readReports(output: string): Map<string, FileReport> {
  const reports = new Map<string, FileReport>();
  const body = output.replace(/\n\s*\[Summary\][\s\S]*$/, "\n");
  const lines = [...body.matchAll(FILE_LINE)];
  for (const [index, line] of lines.entries()) {
    const [whole, file = "", passed, total] = line;
    const detail = body.slice(line.index + whole.length, lines[index + 1]?.index).trim();
    reports.set(file, { passed: Number(passed), total: Number(total), detail });
  }
  return reports;
}

/** Runs some specs in one process; a spec that does not compile ends it early. */
async function runTogether(files: string[]): Promise<{
  reports: Map<string, FileReport>;
  output: string;
}> {
  const result = await runTool(ASPECT, ["--summary"], { SMETRIC_SPEC: files.join(",") });
  const output = stripVTControlCharacters(result.output);
  return { reports: readReports(output), output };
}

function count(
  file: string,
  { passed, total, detail }: FileReport,
  tally: Tally,
  write: (text: string) => void,
): void {
  tally.passed += passed;
  if (total > 0 && passed === total) {
    write(`✔ ${file} (${total})\n`);
    return;
  }
  write(`✖ ${file} (${total - passed} of ${total} failed)\n`);
  const failed = Math.max(1, total - passed);
  for (let i = 0; i < failed; i++) {
    tally.fail(file, i > 0 ? "see above" : total === 0 ? "no tests in this file" : detail);
  }
}

async function runBatch(
  files: string[],
  tally: Tally,
  write: (text: string) => void,
): Promise<void> {
  const { reports, output } = await runTogether(files);
  for (const [file, report] of reports) count(file, report, tally, write);
  const left = files.filter((file) => !reports.has(file));
  const [first] = left;
  if (first === undefined) return;
  if (files.length > 1) {
    // One of them stopped the others: alone, each can speak for itself.
    for (const file of left) await runBatch([file], tally, write);
    return;
  }
  write(`✖ ${first}\n`);
  tally.fail(first, output.split(/ASC Version: .*\n/)[1]?.trim() || "as-pect ended without a word");
}

/** Runs the given spec files in `concurrency` processes. */
export async function runUnitSpecs(
  files: string[],
  concurrency: number,
  tally: Tally,
  write: (text: string) => void,
): Promise<void> {
  const batches = Array.from({ length: concurrency }, (_, lane) =>
    files.filter((_file, index) => index % concurrency === lane),
  ).filter((batch) => batch.length > 0);
  await Promise.all(batches.map((batch) => runBatch(batch, tally, write)));
}
