// SPDX-License-Identifier: Apache-2.0
// The test command: checks, builds, runs every group of tests and ends with one line that counts them all.
import { buildFilter } from "../build.ts";
import { Failure } from "../failure.ts";
import { runChecks } from "../linting/checks.ts";
import { EXTRA_GROUP, GROUPS, listTestFiles, type TestGroup } from "../testing/groups.ts";
import { runNodeTests } from "../testing/node-tests.ts";
import { Tally } from "../testing/tally.ts";
import { runUnitSpecs } from "../testing/unit-specs.ts";

export interface TestOptions {
  /** Runs only files whose path contains this text. */
  only?: string;
}

const LINT = "lint";

const write = (text: string): void => {
  process.stdout.write(text);
};

async function lint(tally: Tally): Promise<void> {
  write("\n== lint\n");
  for (const { name, code, output } of await runChecks()) {
    write(`${code === 0 ? "✔" : "✖"} ${name}\n`);
    if (code === 0) tally.passed++;
    else tally.fail(name, output);
  }
}

async function compile(tally: Tally): Promise<void> {
  try {
    await buildFilter("release");
    await buildFilter("debug");
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    tally.fail("build", error.message);
  }
}

/** @returns number of files that ran */
async function runGroup(group: TestGroup, only: string | undefined, tally: Tally): Promise<number> {
  const files = listTestFiles(group, only);
  if (files.length === 0) {
    if (only === undefined) tally.fail(group.name, `no tests below ${group.folder}`);
    return 0;
  }
  write(`\n== ${group.name}\n`);
  const before = tally.total;
  const runner = group.suffix === ".spec.ts" ? runUnitSpecs : runNodeTests.bind(null, group);
  try {
    await runner(files, group.concurrency, tally, write);
  } catch (error) {
    tally.fail(group.name, error instanceof Error ? error.message : String(error));
  }
  if (tally.total === before) tally.fail(group.name, "ran no test");
  return files.length;
}

function selectGroups(names: string[]): TestGroup[] {
  if (names.length === 0) return GROUPS;
  const known = [LINT, ...GROUPS.map((group) => group.name)];
  for (const name of names) {
    if (!known.includes(name)) {
      throw new Failure(`no test group is called ${name}; there are ${known.join(", ")}`);
    }
  }
  return GROUPS.filter((group) => names.includes(group.name));
}

function finish(tally: Tally): void {
  tally.print(write);
  process.exitCode = tally.failures.length === 0 ? 0 : 1;
}

/**
 * Runs the named groups, or all of them after the checks.
 * @throws Failure when a name or the file pattern matches nothing
 */
export async function test(names: string[], { only }: TestOptions): Promise<void> {
  const groups = selectGroups(names);
  const tally = new Tally();
  if (names.includes(LINT) || (names.length === 0 && only === undefined)) await lint(tally);
  if (groups.length > 0) await compile(tally);
  let ran = 0;
  for (const group of groups) ran += await runGroup(group, only, tally);
  if (only !== undefined && ran === 0) throw new Failure(`no test file contains "${only}"`);
  finish(tally);
}

/** Runs the tests that need more than npm and pip bring; an absent tool is a failure. */
export async function testExtra({ only }: TestOptions): Promise<void> {
  const tally = new Tally();
  await compile(tally);
  const ran = await runGroup(EXTRA_GROUP, only, tally);
  if (only !== undefined && ran === 0) throw new Failure(`no test file contains "${only}"`);
  finish(tally);
}
