// SPDX-License-Identifier: Apache-2.0
// Starts a real vLLM on the CPU with a model that is made on the spot.
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fromRoot } from "../../../cli/paths.ts";
import { freePort } from "../free-port.ts";

/** Python with vLLM and its CPU backend; see CONTRIBUTING.md. */
const PYTHON_VARIABLE = "SMETRIC_VLLM_PYTHON";
const START_TIMEOUT_MS = 900_000;

export interface RealEngine {
  url: string;
  stop(): Promise<void>;
}

/** `blocks`: KV blocks of `blockTokens` tokens, one of which vLLM keeps for itself. */
export async function startRealEngine(
  blocks: number,
  blockTokens: number,
  extra: string[] = [],
): Promise<RealEngine> {
  const python = process.env[PYTHON_VARIABLE];
  if (python === undefined) {
    throw new Error(`Set ${PYTHON_VARIABLE} to a Python that has vLLM for CPUs.`);
  }
  const folder = mkdtempSync(join(tmpdir(), "smetric-vllm-"));
  const made = spawnSync(python, [fromRoot("tests/extra/vllm/make_model.py"), folder]);
  if (made.status !== 0) throw new Error(`make_model.py: ${made.stderr.toString()}`);
  const port = await freePort();
  const child = spawn(python, [...engineArguments(folder, port, blocks, blockTokens), ...extra], {
    env: {
      ...process.env,
      VLLM_CPU_KVCACHE_SPACE: "1",
      VLLM_CPU_OMP_THREADS_BIND: "nobind",
      OMP_NUM_THREADS: "1",
      HF_HUB_OFFLINE: "1",
      VLLM_NO_USAGE_STATS: "1",
      DO_NOT_TRACK: "1",
    },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const log: string[] = [];
  child.stdout.on("data", (chunk: Buffer) => log.push(chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => log.push(chunk.toString()));
  const stop = async (): Promise<void> => {
    await end(child);
    rmSync(folder, { recursive: true, force: true });
  };
  const url = `http://127.0.0.1:${port}`;
  try {
    await healthy(url, child);
  } catch (error) {
    await stop();
    throw new Error(`${String(error)}\n${log.join("").slice(-4000)}`);
  }
  return { url, stop };
}

function engineArguments(
  folder: string,
  port: number,
  blocks: number,
  blockTokens: number,
): string[] {
  return [
    ...[
      "-m",
      "vllm.entrypoints.openai.api_server",
      "--model",
      folder,
      "--served-model-name",
      "mock",
    ],
    ...["--host", "127.0.0.1", "--port", String(port), "--load-format", "dummy"],
    ...["--dtype", "bfloat16", "--enforce-eager", "--max-num-seqs", "16"],
    ...["--block-size", String(blockTokens), "--num-gpu-blocks-override", String(blocks)],
    ...["--max-model-len", String(Math.floor(((blocks - 1) * blockTokens) / 2))],
    ...["--enable-prefix-caching", "--enable-prompt-tokens-details"],
  ];
}

async function healthy(url: string, child: ChildProcess): Promise<void> {
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (Date.now() < deadline) {
    if (child.exitCode !== null) throw new Error(`vLLM ended with code ${child.exitCode}.`);
    const answer = await fetch(`${url}/health`).catch(() => null);
    if (answer?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  throw new Error("vLLM did not become healthy.");
}

/** vLLM starts processes of its own: the whole group goes. */
async function end(child: ChildProcess): Promise<void> {
  if (child.pid === undefined || child.exitCode !== null) return;
  const ended = once(child, "exit");
  process.kill(-child.pid, "SIGTERM");
  const late = setTimeout(() => process.kill(-(child.pid ?? 0), "SIGKILL"), 15_000);
  await ended;
  clearTimeout(late);
}
