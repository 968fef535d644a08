// SPDX-License-Identifier: Apache-2.0
// The table of commands. Each command lives in its own file below commands/ and is loaded on use.
import { Command, CommanderError } from "commander";
import { addMockGpuFlags, type MockGpuFlags } from "../lab/mock-gpu/flags.ts";
import type { BenchCostOptions } from "./commands/bench-cost.ts";
import type { EvidenceOptions } from "./commands/evidence.ts";
import type { ShapesOptions } from "./commands/mock-gpu-shapes.ts";
import type { StartOptions } from "./commands/start.ts";
import type { FuzzOptions } from "./commands/fuzz.ts";
import type { InitOptions } from "./commands/init.ts";
import { Failure } from "./failure.ts";
import { version } from "./packaging/version.ts";
import type { TuneFlags } from "./commands/tune.ts";
import type { WhatIfFlags } from "./commands/what-if.ts";
import { addReplayFlags, type ReplayFlags } from "./replaying/replay-flags.ts";
import { addLogFlags } from "./replaying/what-if-flags.ts";

/** A repeatable option: every use adds a value. */
function collect(value: string, earlier: string[]): string[] {
  return [...earlier, value];
}

/** What a platform engineer needs, in the order of use. */
function addUserCommands(cli: Command): void {
  cli.commandsGroup("To use the filter:");

  cli
    .command("start")
    .description(
      "replay agents against a real Envoy with the filter, beside the same fleet without it",
    )
    .option("--endpoints <n>", "mock GPUs per fleet", "4")
    .option("--sessions <n>", "agent sessions", "64")
    .option("--seed <n>", "seed of everything random", "1")
    .option("--port <n>", "port of the live page on 127.0.0.1, 0 for a free one", "0")
    .option("--no-page", "serve no live page")
    .option("--keep", "keep the page up after the run, until Ctrl-C")
    .option("--json <file>", "write all measures to a file")
    .action(async (options: StartOptions) => {
      const { start } = await import("./commands/start.ts");
      await start(options);
    });

  cli
    .command("init <platform>")
    .description("write commented manifests: envoy, kubernetes, istio or envoy-gateway")
    .requiredOption("--out <folder>", "folder to write to; nothing is overwritten")
    .option("--image <reference>", "where the module's image lies")
    .option("--namespace <name>", "namespace of the engines' service")
    .option("--service <name>", "service or host name of the engines")
    .option("--port <number>", "port of the engines")
    .action(async (platform: string, options: InitOptions) => {
      const { init } = await import("./commands/init.ts");
      for (const path of await init(platform, options)) console.log(path);
    });

  cli
    .command("check <paths...>")
    .description(
      "check configurations of the filter, Envoy bootstraps and manifests: files, folders, - for stdin",
    )
    .option("--strict", "fail on warnings as well")
    .action(async (paths: string[], options: { strict?: boolean }) => {
      const { check } = await import("./commands/check.ts");
      check(paths, options);
    });

  cli
    .command("inspect <files...>")
    .description("show what the filter makes of request bodies, sent in order; - is stdin")
    .requiredOption("--path <path>", "path of the request, e.g. /v1/chat/completions")
    .option("--header <name:value>", "request header; may be given several times", collect, [])
    .option("--config <file>", "plugin configuration (JSON)")
    .action(
      async (files: string[], options: { path: string; header: string[]; config?: string }) => {
        const { inspect } = await import("./commands/inspect.ts");
        await inspect(files, options);
      },
    );

  addLogFlags(
    cli
      .command("what-if <log>")
      .description("replay a trace or access log as it is balanced today, and with the filter"),
  )
    .option("--loads <list>", "loads to try, 1 is that of the log", "0.5,1,1.5,2")
    .option("--config <file>", "configuration of the filter (JSON; default: its defaults)")
    .option("--html <file>", "write a page with the charts")
    .action(async (log: string, flags: WhatIfFlags) => {
      const { whatIf } = await import("./commands/what-if.ts");
      await whatIf(log, flags);
    });

  addLogFlags(
    cli
      .command("tune <log>")
      .description("search the configuration that serves a trace or access log best"),
  )
    .option("--load <x>", "load to tune for, 1 is that of the log", "1")
    .option("--objective <name>", "tokens (per second, in time), ttft (p99) or jct", "tokens")
    .option("--out <file>", "write the configuration to a file")
    .action(async (log: string, flags: TuneFlags) => {
      const { tune } = await import("./commands/tune.ts");
      await tune(log, flags);
    });

  cli
    .command("image")
    .description("pack the module as an OCI image layout that Istio and Envoy Gateway load")
    .requiredOption("--out <folder>", "folder to write, to be pushed with crane, oras or skopeo")
    .option(
      "--variant <variant>",
      "image (every registry) or artifact (Wasm image specification)",
      "image",
    )
    .action(async (options: { out: string; variant: string }) => {
      const { image } = await import("./commands/image.ts");
      await image(options);
    });
}

/** Fleets of mock GPUs and what is measured on them. */
function addLabCommands(cli: Command): void {
  cli.commandsGroup("To study fleets:");

  addReplayFlags(
    cli
      .command("replay")
      .description(
        "replay a workload against several policies, on a real Envoy or in virtual time",
      ),
  ).action(async (flags: ReplayFlags) => {
    const { replay } = await import("./commands/replay.ts");
    await replay(flags);
  });

  cli
    .command("evidence [study]")
    .description("replay every policy in many regimes and write what they come to; takes an hour")
    .option("--quick", "a small part of it, in ten minutes, written to build/evidence/")
    .option("--full", "the whole grid; says first how many hours it takes")
    .option("--render", "run nothing: write text and page again from the runs that lie there")
    .option("--knees", "find the loads of the routing study anew")
    .option("--repeat <cell>", "the best arms of one cell of the routing study on ten more seeds")
    .option("--drivers", "play a few arms on a real Envoy as well, and compare their order")
    .option("--workers <n>", "runs at the same time", "2")
    .option("--out <folder>", "where text, page and runs go (default: docs/ and build/evidence/)")
    .option("--json <file>", "write the figures of the text to a file")
    .action(async (study: string | undefined, options: EvidenceOptions) => {
      const { evidence } = await import("./commands/evidence.ts");
      await evidence(study, options);
    });

  addMockGpuFlags(
    cli.command("mock-gpu").description("serve a mock GPU: an engine model behind vLLM's HTTP API"),
  ).action(async (flags: MockGpuFlags) => {
    const { mockGpu } = await import("../lab/mock-gpu/command.ts");
    await mockGpu(flags);
  });

  cli
    .command("mock-gpu:shapes")
    .description("draw how the mock GPU answers load, memory and placement, on one page")
    .requiredOption("--html <file>", "page to write")
    .action(async (options: ShapesOptions) => {
      const { shapesCommand } = await import("./commands/mock-gpu-shapes.ts");
      await shapesCommand(options);
    });
}

/** Builds, tests and measurements of the filter itself. */
function addDevelopmentCommands(cli: Command): void {
  cli.commandsGroup("To work on the filter:");

  cli
    .command("build")
    .description("compile the filter to build/smetric.wasm")
    .option("--debug", "also build the debug module")
    .action(async (options: { debug?: boolean }) => {
      const { buildFilter } = await import("./build.ts");
      console.log(await buildFilter("release"));
      if (options.debug) console.log(await buildFilter("debug"));
    });

  cli
    .command("test [groups...]")
    .description(
      "run the checks and tests, or only some groups: lint, unit, cli, config, lab, host, e2e",
    )
    .option("--only <text>", "run only test files whose path contains this text")
    .action(async (groups: string[], options: { only?: string }) => {
      const { test } = await import("./commands/test.ts");
      await test(groups, options);
    });

  cli
    .command("test:extra [text]")
    .description(
      "run the tests that need other tools, or hours; only files whose path contains the text",
    )
    .option("--only <text>", "run only test files whose path contains this text")
    .action(async (text: string | undefined, options: { only?: string }) => {
      const { testExtra } = await import("./commands/test.ts");
      await testExtra({ only: text, ...options });
    });

  cli
    .command("lint")
    .description("check format, code rules, types and the import law")
    .action(async () => {
      const { lint } = await import("./commands/lint.ts");
      await lint();
    });

  cli
    .command("format")
    .description("rewrite all files in the house format")
    .action(async () => {
      const { format } = await import("./commands/lint.ts");
      await format();
    });

  cli
    .command("generate")
    .description("rewrite the files that are written by code: options, references")
    .action(async () => {
      const { generate } = await import("./commands/generate.ts");
      await generate();
    });

  cli
    .command("render:mesh [text]")
    .description(
      "render deploy/istio and deploy/envoy-gateway with the real control planes (needs Go)",
    )
    .action(async (text: string | undefined) => {
      const { renderMesh } = await import("./commands/render-mesh.ts");
      await renderMesh(text);
    });

  cli
    .command("fuzz")
    .description("compare the request reader with a plain one on made-up bodies")
    .option("--minutes <number>", "how long", "10")
    .option("--seed <number>", "where to begin (default: by chance)")
    .action(async (options: FuzzOptions) => {
      const { fuzz } = await import("./commands/fuzz.ts");
      await fuzz(options);
    });

  cli
    .command("bench:cost")
    .description(
      "measure what a request costs real Envoys without, with small and with this filter",
    )
    .option("--json <file>", "write all numbers to a file")
    .option("--quick", "fewer sizes and rounds")
    .action(async (options: BenchCostOptions) => {
      const { benchCostCommand } = await import("./commands/bench-cost.ts");
      await benchCostCommand(options);
    });

  cli
    .command("bench:scan")
    .description("measure how fast the request reader goes through agent-shaped bodies")
    .action(async () => {
      const { benchScanCommand } = await import("./commands/bench-scan.ts");
      await benchScanCommand();
    });

  cli
    .command("bench:pick")
    .description("measure what it costs to choose an endpoint among 8 and 64")
    .action(async () => {
      const { benchPickCommand } = await import("./commands/bench-pick.ts");
      await benchPickCommand();
    });
}

function program(): Command {
  const cli = new Command("smetric-envoy")
    .description("Turn-aware routing of LLM requests in Envoy")
    .version(version())
    .showHelpAfterError("(with --help it says what it takes)")
    .exitOverride();
  addUserCommands(cli);
  addLabCommands(cli);
  addDevelopmentCommands(cli);
  return cli;
}

/** All commands, with their flags. */
export function allCommands(): readonly Command[] {
  return program().commands;
}

/** Runs one command. Faults of the user's input end in one line on stderr and a non-zero exit code. */
export async function main(args: string[]): Promise<void> {
  try {
    await program().parseAsync(args, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode;
    } else if (error instanceof Failure) {
      process.stderr.write(`smetric-envoy: ${error.message}\n`);
      process.exitCode = error.exitCode;
    } else {
      process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
      process.exitCode = 1;
    }
  }
}
