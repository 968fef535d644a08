// SPDX-License-Identifier: Apache-2.0
// Puts pages together for browsers: template, common looks, script.
import { readFileSync } from "node:fs";
import { fromRoot } from "../../cli/paths.ts";

/**
 * A page with the looks of all pages inside.
 * @param template its path below lab/replay/
 */
export function styledPage(template: string): string {
  const read = (path: string) => readFileSync(fromRoot("lab", "replay", path), "utf8");
  return read(template).replace("/* page.css */", () => read("page.css"));
}

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
