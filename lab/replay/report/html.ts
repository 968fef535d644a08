// SPDX-License-Identifier: Apache-2.0
// The report as one self-contained HTML page: data, script and chart library inside.
import { readFileSync } from "node:fs";
import { fromRoot } from "../../../cli/paths.ts";
import { bundlePage } from "../bundle-page.ts";
import type { Report } from "./report.ts";

/** `<` would end a script element too early. */
function inScript(text: string): string {
  return text.replaceAll("</", "<\\/");
}

export async function renderHtml(report: Report): Promise<string> {
  const page = readFileSync(fromRoot("lab", "replay", "report", "page.html"), "utf8");
  const script = await bundlePage("report/page.ts");
  const data = `window.REPORT = ${inScript(JSON.stringify(report))};`;
  // Functions, because the texts may hold `$&` and the like.
  return page.replace("/* data */", () => data).replace("/* script */", () => inScript(script));
}
