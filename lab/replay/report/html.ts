// SPDX-License-Identifier: Apache-2.0
// Reports as one self-contained HTML page: data, script and chart library inside.
import { bundlePage, styledPage } from "../bundle-page.ts";
import type { Report } from "./report.ts";

/** `<` would end a script element too early. */
function inScript(text: string): string {
  return text.replaceAll("</", "<\\/");
}

/**
 * A page of charts with everything inside.
 * @param data what the script finds as `window.REPORT`
 * @param script its path below lab/replay/
 */
export async function renderPage(data: object, script: string): Promise<string> {
  const page = styledPage("report/page.html");
  const code = await bundlePage(script);
  const values = `window.REPORT = ${inScript(JSON.stringify(data))};`;
  // Functions, because the texts may hold `$&` and the like.
  return page.replace("/* data */", () => values).replace("/* script */", () => inScript(code));
}

export async function renderHtml(report: Report): Promise<string> {
  return renderPage(report, "report/page.ts");
}
