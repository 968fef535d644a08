// SPDX-License-Identifier: Apache-2.0
// What `npm run lint` checks: format, code rules, types, import law.
import { type ToolResult, runTool } from "../tool.ts";
import { checkImportLaw } from "./import-law.ts";

interface Check {
  name: string;
  run: () => Promise<ToolResult>;
}

const PRETTIER = "node_modules/prettier/bin/prettier.cjs";

const PRETTIER_CACHE = [
  "--cache",
  "--cache-strategy=content",
  "--cache-location=build/prettier-cache",
];

const CHECKS: Check[] = [
  {
    name: "format",
    run: () => runTool(PRETTIER, ["--check", "--log-level=warn", ...PRETTIER_CACHE, "."]),
  },
  {
    name: "eslint",
    // Without its cache: it does not know that types of other files change what it finds.
    run: () => runTool("node_modules/eslint/bin/eslint.js", ["--max-warnings=0", "."]),
  },
  {
    name: "types",
    run: () =>
      runTool("node_modules/typescript/bin/tsc", [
        "--noEmit",
        "--incremental",
        "--tsBuildInfoFile",
        "build/tsc.tsbuildinfo",
      ]),
  },
  { name: "import law", run: checkImports },
];

async function checkImports(): Promise<ToolResult> {
  const broken = checkImportLaw();
  return { code: broken.length === 0 ? 0 : 1, output: broken.join("\n") };
}

/** Runs all checks side by side; the results keep the order of the list. */
export function runChecks(): Promise<(ToolResult & { name: string })[]> {
  return Promise.all(CHECKS.map(async ({ name, run }) => ({ name, ...(await run()) })));
}

/** Rewrites all files in the house format. */
export function formatAll(): Promise<ToolResult> {
  return runTool(PRETTIER, ["--write", "--log-level=warn", "."]);
}
