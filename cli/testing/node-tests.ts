// SPDX-License-Identifier: Apache-2.0
// Bundles TypeScript tests with esbuild and runs them with Node's own test runner, one process a file.
import { build } from "esbuild";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { run } from "node:test";
import { inspect } from "node:util";
import { fromRoot, root } from "../paths.ts";
import type { Tally } from "./tally.ts";

/** A file that takes longer hangs: the longest of them replays whole conversations. */
const FILE_TIMEOUT_MS = 15 * 60_000;

const OUT_FOLDER = "build/tests";

/** Payload of the runner's pass and fail events, as far as it is used here. */
interface TestEvent {
  name: string;
  nesting: number;
  file?: string;
  skip?: string | boolean;
  todo?: string | boolean;
  details: { type?: string; duration_ms: number; error?: Error & { cause?: unknown } };
}

async function bundle(group: string, files: string[]): Promise<Map<string, string>> {
  const outdir = fromRoot(OUT_FOLDER, group);
  rmSync(outdir, { recursive: true, force: true });
  await build({
    entryPoints: files,
    outdir,
    outbase: root,
    absWorkingDir: root,
    bundle: true,
    splitting: true,
    platform: "node",
    format: "esm",
    target: "node20",
    packages: "external",
    sourcemap: true,
    outExtension: { ".js": ".mjs" },
    logLevel: "error",
  });
  return new Map(files.map((file) => [join(outdir, file.replace(/\.ts$/, ".mjs")), file]));
}

function describeError(error: (Error & { cause?: unknown }) | undefined): string {
  const cause = error?.cause ?? error;
  if (cause instanceof Error) return cause.stack ?? cause.message;
  return typeof cause === "string" ? cause : inspect(cause);
}

/** Suites only repeat what their tests say; the name of a file stands for a file without any test. */
function isSuite(event: TestEvent): boolean {
  return event.details.type === "suite";
}

/** A parent test fails with its children; those are reported by themselves. */
function failedThroughChildren(event: TestEvent): boolean {
  const error = event.details.error as { failureType?: string } | undefined;
  return error?.failureType === "subtestsFailed";
}

/**
 * Runs test files of one group and adds their results to `tally`.
 * @param concurrency files that run at the same time
 */
export async function runNodeTests(
  group: string,
  files: string[],
  concurrency: number,
  tally: Tally,
  write: (text: string) => void,
): Promise<void> {
  const bundles = await bundle(group, files);
  const titleOf = (event: TestEvent): string => {
    const source = event.file === undefined ? undefined : bundles.get(event.file);
    return source === undefined ? event.name : `${source}: ${event.name}`;
  };
  process.env["NODE_OPTIONS"] = sourceMapOptions();
  delete process.env["NODE_TEST_CONTEXT"];
  const events = run({ files: [...bundles.keys()], concurrency, timeout: FILE_TIMEOUT_MS });

  events.on("test:pass", (event: TestEvent) => {
    if (isSuite(event)) return;
    const indent = "  ".repeat(event.nesting);
    const seconds = (event.details.duration_ms / 1000).toFixed(2);
    const isWholeFile = event.nesting === 0 && bundles.has(fromRoot(event.name));
    if (isWholeFile) {
      tally.fail(titleOf(event), "no tests in this file");
    } else if (event.skip !== undefined || event.todo !== undefined) {
      tally.fail(titleOf(event), "skipped: a test runs or does not exist");
    } else {
      tally.passed++;
      write(`${indent}✔ ${event.name} (${seconds} s)\n`);
      return;
    }
    write(`${indent}✖ ${event.name}\n`);
  });
  events.on("test:fail", (event: TestEvent) => {
    if (failedThroughChildren(event)) return;
    write(`${"  ".repeat(event.nesting)}✖ ${event.name}\n`);
    tally.fail(titleOf(event), describeError(event.details.error));
  });
  events.on("test:stderr", ({ message }: { message: string }) => write(message));
  events.on("test:stdout", ({ message }: { message: string }) => write(message));
  await new Promise((resolve) => events.on("end", resolve).resume());
}

function sourceMapOptions(): string {
  const given = process.env["NODE_OPTIONS"] ?? "";
  return given.includes("--enable-source-maps") ? given : `${given} --enable-source-maps`.trim();
}
