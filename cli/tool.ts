// SPDX-License-Identifier: Apache-2.0
// Runs a development tool (a JavaScript file of a dependency) in a process of its own.
import { spawn } from "node:child_process";
import { fromRoot, root } from "./paths.ts";

/** How a tool ended: its exit code and all it wrote, standard output and error together. */
export interface ToolResult {
  code: number;
  output: string;
}

/**
 * Runs `node <script> <args>` in the package root and collects its output.
 * @param script path below the package root
 * @param env variables added to the current environment
 */
export function runTool(
  script: string,
  args: string[],
  env: Record<string, string> = {},
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [fromRoot(script), ...args], {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const pieces: Buffer[] = [];
    child.stdout.on("data", (piece: Buffer) => pieces.push(piece));
    child.stderr.on("data", (piece: Buffer) => pieces.push(piece));
    child.on("error", reject);
    child.on("close", (code) =>
      resolve({ code: code ?? 1, output: Buffer.concat(pieces).toString("utf8") }),
    );
  });
}
