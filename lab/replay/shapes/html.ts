// SPDX-License-Identifier: Apache-2.0
// The shapes of the mock GPU as one self-contained HTML page.
import { renderPage } from "../report/html.ts";
import type { Shapes } from "./runs.ts";

export async function renderShapes(shapes: Shapes): Promise<string> {
  return renderPage(shapes, "shapes/page.ts");
}
