// SPDX-License-Identifier: Apache-2.0
// The groups of tests, in the order in which they run, and how to find their files.
import { existsSync, readdirSync } from "node:fs";
import { join, relative, sep } from "node:path";
import { fromRoot, root } from "../paths.ts";

export interface TestGroup {
  name: string;
  /** Folder below the package root. */
  folder: string;
  /** How file names of this group end. */
  suffix: string;
  /** Test files that run at the same time. */
  concurrency: number;
  /** Most time for one file where the usual is too short. */
  timeoutMs?: number;
}

const NODE_TEST = ".test.ts";

/** Everything `npm test` runs. A group without any test is a failure: it means that tests got lost. */
export const GROUPS: TestGroup[] = [
  { name: "unit", folder: "tests/unit", suffix: ".spec.ts", concurrency: 2 },
  { name: "cli", folder: "tests/cli", suffix: NODE_TEST, concurrency: 2 },
  { name: "config", folder: "tests/config", suffix: NODE_TEST, concurrency: 2 },
  { name: "lab", folder: "tests/lab", suffix: NODE_TEST, concurrency: 2 },
  { name: "host", folder: "tests/host", suffix: NODE_TEST, concurrency: 2 },
  // Each of these files starts an Envoy and a fleet: one at a time keeps latencies honest.
  { name: "e2e", folder: "tests/e2e", suffix: NODE_TEST, concurrency: 1 },
];

/** What `npm run test:extra` runs: needs tools that npm and pip do not bring, or far more time. */
export const EXTRA_GROUP: TestGroup = {
  name: "extra",
  folder: "tests/extra",
  suffix: NODE_TEST,
  concurrency: 1,
  timeoutMs: 4 * 3_600_000, // Millions of sessions.
};

/** Test files of a group, relative to the package root, sorted; `only` keeps paths that contain it. */
export function listTestFiles(group: TestGroup, only = ""): string[] {
  const folder = fromRoot(group.folder);
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(group.suffix))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
    .filter((path) => path.includes(only))
    .sort();
}
