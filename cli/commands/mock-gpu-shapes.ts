// SPDX-License-Identifier: Apache-2.0
// `mock-gpu:shapes`: a page of plots that show how the mock GPU answers load, memory and placement.
import { renderShapes } from "../../lab/replay/shapes/html.ts";
import { drawShapes } from "../../lab/replay/shapes/runs.ts";
import { requireWritable, writeOutput } from "../output-file.ts";

export interface ShapesOptions {
  /** File to write. */
  html: string;
}

/** @throws Failure when the page cannot be written */
export async function shapesCommand({ html }: ShapesOptions): Promise<void> {
  requireWritable("html", html);
  writeOutput("html", html, await renderShapes(drawShapes()));
  console.log(html);
}
