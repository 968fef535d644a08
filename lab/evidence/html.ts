// SPDX-License-Identifier: Apache-2.0
// All studies as one self-contained HTML page.
import { renderPage } from "../replay/report/html.ts";
import type { Panel, TextTable } from "./study.ts";

/** What the page's script finds. */
export interface EvidencePage {
  conditions: string;
  notes: string[];
  studies: { name: string; panels: Panel[]; tables: TextTable[] }[];
}

export async function renderEvidence(page: EvidencePage): Promise<string> {
  return renderPage(page, "../evidence/page.ts");
}
