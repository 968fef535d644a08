// SPDX-License-Identifier: Apache-2.0
// A what-if as one self-contained HTML page.
import { renderPage } from "../replay/report/html.ts";
import type { LoadPoint } from "./study.ts";

/** What the page is made of. */
export interface WhatIfReport {
  /** Names in snake_case, as the flags. */
  config: Record<string, unknown>;
  /** The answer, sentence by sentence. */
  answer: string[];
  loads: LoadPoint[];
}

export async function renderWhatIf(report: WhatIfReport): Promise<string> {
  return renderPage(report, "../what-if/page.ts");
}
