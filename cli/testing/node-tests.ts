// SPDX-License-Identifier: Apache-2.0
// Bundles TypeScript tests with esbuild and runs them with Node's own test runner, one process a file.
import { build } from "esbuild";
import { rmSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { run } from "node:test";
import { inspect } from "node:util";
import { fromRoot, root } from "../paths.ts";
import type { TestGroup } from "./groups.ts";
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

/** Payload of the runner's output events. */
interface OutputEvent {
  file: string;
  message: string;
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

/** Suites only repeat what their tests say. */
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
  { name: group, timeoutMs = FILE_TIMEOUT_MS }: TestGroup,
  files: string[],
  concurrency: number,
  tally: Tally,
  write: (text: string) => void,
): Promise<void> {
  const bundles = await bundle(group, files);
  const report = new GroupReport(bundles, tally, write);
  process.env["NODE_OPTIONS"] = nodeOptions();
  delete process.env["NODE_TEST_CONTEXT"];
  const events = run({ files: [...bundles.keys()], concurrency, timeout: timeoutMs });
  events.on("test:pass", (event: TestEvent) => report.pass(event));
  events.on("test:fail", (event: TestEvent) => report.fail(event));
  events.on("test:stderr", (event: OutputEvent) => report.print(event));
  events.on("test:stdout", (event: OutputEvent) => report.print(event));
  events.on("test:diagnostic", (event: { message: string }) => report.note(event));
  await new Promise((resolve) => events.on("end", resolve).resume());
}

/** Turns the runner's events into lines and counts. */
class GroupReport {
  /** What a test file printed: the reason, when it fails as a whole. */
  private readonly printed = new Map<string, string>();

  constructor(
    /** Source files by bundle. */
    private readonly bundles: Map<string, string>,
    private readonly tally: Tally,
    private readonly write: (text: string) => void,
  ) {}

  print({ file, message }: OutputEvent): void {
    const source = this.sourceOf(file);
    this.printed.set(source, (this.printed.get(source) ?? "") + message);
    this.write(message);
  }

  /** The runner's own remarks; its warnings tell of errors after a test's end. */
  note({ message }: { message: string }): void {
    if (message.startsWith("Warning:")) this.write(`${message}\n`);
  }

  pass(event: TestEvent): void {
    if (isSuite(event)) return;
    if (this.wholeFile(event) !== undefined) {
      this.reject(event, "no tests in this file");
    } else if (event.skip !== undefined || event.todo !== undefined) {
      this.reject(event, "skipped: a test runs or does not exist");
    } else {
      this.tally.passed++;
      const seconds = (event.details.duration_ms / 1000).toFixed(2);
      this.write(`${indentOf(event)}✔ ${event.name} (${seconds} s)\n`);
    }
  }

  fail(event: TestEvent): void {
    if (failedThroughChildren(event)) return;
    const file = this.wholeFile(event);
    const printed = file === undefined ? undefined : this.printed.get(this.sourceOf(file));
    this.reject(event, printed ?? describeError(event.details.error));
  }

  private reject(event: TestEvent, why: string): void {
    const file = this.wholeFile(event);
    const source = this.sourceOf(file ?? event.file ?? "");
    const name = file === undefined ? event.name : "the file as a whole";
    this.write(`${indentOf(event)}✖ ${name}\n`);
    this.tally.fail(`${source}: ${name}`, why);
  }

  /** Node names a file by its bundle or, with source maps, by its source. */
  private sourceOf(file: string): string {
    return this.bundles.get(file) ?? relative(root, file);
  }

  /** The bundle, where an event is about a file and not about a test in it. */
  private wholeFile({ name, nesting }: TestEvent): string | undefined {
    const path = resolve(root, name);
    return nesting === 0 && this.bundles.has(path) ? path : undefined;
  }
}

function indentOf({ nesting }: TestEvent): string {
  return "  ".repeat(nesting);
}

/** The virtual Envoy makes much short-lived garbage: with room for it a request takes a third less time (measured). */
const TEST_OPTIONS = ["--enable-source-maps", "--max-semi-space-size=64"];

function nodeOptions(): string {
  const given = process.env["NODE_OPTIONS"] ?? "";
  const missing = TEST_OPTIONS.filter((option) => !given.includes(option.split("=")[0]!));
  return [given, ...missing].join(" ").trim();
}
