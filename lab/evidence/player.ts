// SPDX-License-Identifier: Apache-2.0
// What plays the runs of one command: the filter and the code of the lab as they are when it starts, frozen.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { Worker } from "node:worker_threads";
import { buildFilter } from "../../cli/build.ts";
import { Failure } from "../../cli/failure.ts";
import { fromRoot } from "../../cli/paths.ts";
import { splitArm } from "../replay/admission/arms.ts";
import { FILTER_POLICIES } from "../replay/drivers/virtual/virtual-driver.ts";
import type { RunMeasures, RunSpec } from "./study.ts";
import type { Task, TaskResult } from "./worker.ts";

const FOLDER = ["build", "evidence"];
const DIGEST_CHARACTERS = 12;

function digestOf(...parts: (string | Uint8Array)[]): string {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex").slice(0, DIGEST_CHARACTERS);
}

async function bundleWorker(): Promise<string> {
  const entry = fromRoot("lab", "evidence", "worker.ts");
  if (!existsSync(entry)) throw new Failure("evidence needs a checkout of the repository");
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: [entry],
    absWorkingDir: fromRoot("."),
    bundle: true,
    minify: true,
    write: false,
    platform: "node",
    format: "esm",
    target: "node20",
    logLevel: "error",
  });
  return result.outputFiles[0]!.text;
}

export interface Played {
  measures: RunMeasures;
  cpuSeconds: number;
}

/** Plays runs on worker threads. Whoever changes files meanwhile does not change what they run. */
export class Player {
  private constructor(
    private readonly script: string,
    private readonly wasm: string,
    /** Names the behaviour of the lab's code: comments and layout do not count. */
    private readonly labDigest: string,
    /** Names the compiled filter. */
    readonly filterDigest: string,
  ) {}

  static async create(): Promise<Player> {
    const built = await buildFilter();
    const filterDigest = digestOf(readFileSync(built));
    const code = await bundleWorker();
    const traces = ["coding-agent", "airline"].map((name) =>
      readFileSync(fromRoot("lab", "replay", "data", `${name}.ndjson.br`)),
    );
    const labDigest = digestOf(code, ...traces);
    mkdirSync(fromRoot(...FOLDER), { recursive: true });
    const script = fromRoot(...FOLDER, `worker-${labDigest}.mjs`);
    const wasm = fromRoot(...FOLDER, `smetric-${filterDigest}.wasm`);
    writeFileSync(script, code);
    copyFileSync(built, wasm);
    return new Player(script, wasm, labDigest, filterDigest);
  }

  /** Equal for runs that give equal numbers. */
  keyOf(spec: RunSpec): string {
    const filter = FILTER_POLICIES.includes(splitArm(spec.arm).policy) ? this.filterDigest : "";
    // What a study calls a cell decides nothing.
    return digestOf(JSON.stringify([{ ...spec, cell: "" }, filter, this.labDigest]));
  }

  /**
   * Plays all runs, `workers` at a time.
   * @throws Failure with the fault of a run
   */
  async playAll(
    specs: readonly RunSpec[],
    workers: number,
    done: (spec: RunSpec, played: Played) => void,
    signal: AbortSignal,
  ): Promise<void> {
    const waiting = [...specs].reverse();
    const threads = Array.from(
      { length: Math.min(workers, specs.length) },
      () => new PlayerThread(this.script, signal),
    );
    try {
      await Promise.all(
        threads.map(async (thread) => {
          for (let spec = waiting.pop(); spec !== undefined; spec = waiting.pop()) {
            done(spec, await thread.play({ spec, wasm: this.wasm }));
          }
        }),
      );
    } finally {
      for (const thread of threads) thread.close();
    }
  }
}

/** One thread, one run at a time. */
class PlayerThread {
  private readonly worker: Worker;
  private settle: ((result: TaskResult) => void) | null = null;
  private readonly stop = (): void => this.close();

  constructor(
    script: string,
    private readonly signal: AbortSignal,
  ) {
    this.worker = new Worker(script);
    this.worker.on("message", (result: TaskResult) => this.settle?.(result));
    this.worker.on("error", (error: Error) =>
      this.settle?.({ error: error.stack ?? error.message }),
    );
    this.worker.on("exit", () => this.settle?.({ error: "the worker ended" }));
    signal.addEventListener("abort", this.stop);
  }

  async play(task: Task): Promise<Played> {
    const result = await new Promise<TaskResult>((resolve) => {
      this.settle = resolve;
      this.worker.postMessage(task);
    });
    this.signal.throwIfAborted();
    if (!("error" in result)) return result;
    throw new Failure(`${task.spec.cell}, ${task.spec.arm}: ${result.error}`);
  }

  close(): void {
    this.signal.removeEventListener("abort", this.stop);
    void this.worker.terminate();
  }
}
