// SPDX-License-Identifier: Apache-2.0
// Bundles the script of a page for browsers.
import { fromRoot } from "../../cli/paths.ts";

/** A page's script with its chart library in one file: nothing is loaded from elsewhere. */
export async function bundlePage(script: string): Promise<string> {
  const { build } = await import("esbuild");
  const result = await build({
    entryPoints: [fromRoot("lab", "replay", script)],
    absWorkingDir: fromRoot("."),
    bundle: true,
    minify: true,
    write: false,
    format: "iife",
    target: "es2022",
    logLevel: "error",
  });
  return result.outputFiles[0]!.text;
}
