// SPDX-License-Identifier: Apache-2.0
// A worker thread that plays runs one after the other.
import { parentPort } from "node:worker_threads";
import { play } from "./play.ts";
import type { RunMeasures, RunSpec } from "./study.ts";

/** What a worker is asked. */
export interface Task {
  spec: RunSpec;
  wasm: string;
}

/** What it answers: the measures, or why there are none. */
export type TaskResult = { measures: RunMeasures; cpuSeconds: number } | { error: string };

async function answer({ spec, wasm }: Task): Promise<TaskResult> {
  const before = process.cpuUsage();
  const wallBefore = performance.now();
  try {
    const measures = await play(spec, wasm);
    const { user, system } = process.cpuUsage(before);
    const seconds = (performance.now() - wallBefore) / 1000;
    // The process counts all its threads: one of them uses no more than the time that passed.
    return { measures, cpuSeconds: Math.min(seconds, (user + system) / 1e6) };
  } catch (error) {
    return { error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

parentPort?.on("message", (task: Task) => {
  void answer(task).then((result) => parentPort?.postMessage(result));
});
