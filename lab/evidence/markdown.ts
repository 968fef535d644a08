// SPDX-License-Identifier: Apache-2.0
// The page of results in Markdown: each study owns one section and leaves the others alone.
import type { TextTable } from "./study.ts";

/** The page before any study has written to it. */
export const EMPTY_RESULTS = `# Results

What the policies come to, measured in virtual time: the shipped module, byte for byte, over modelled GPUs. No number here was
measured on hardware. Each section is written by its study from the file of runs beside it:

    npm run evidence                 # every study, and this page
    npm run evidence -- --quick      # ten minutes, written to build/evidence/
    npm run evidence -- --full       # the whole grid; says first how many hours it takes
    npm run evidence -- --knees      # the loads of the routing study, found anew
    npm run evidence -- --repeat c07 # the best arms of one cell on ten more seeds
    npm run evidence -- --drivers    # a few arms on a real Envoy as well; ten minutes
    npm run evidence -- --render     # this page and build/evidence/results.html from the runs as they are

[Measures](measures.md) defines the names, [replay](replay.md) the workloads, the fleet and the arms.
`;

function markers(name: string): [string, string] {
  return [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
}

/** The page with the section of one study in place of its old one, or at the end. */
export function withSection(page: string, name: string, title: string, text: string): string {
  const [begin, end] = markers(name);
  const section = `${begin}\n## ${title}\n\n${text.trim()}\n${end}`;
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from) return `${page.trimEnd()}\n\n${section}\n`;
  return page.slice(0, from) + section + page.slice(to + end.length);
}

/** Numbers, signed or not; other columns are words. */
const NUMBER = /^[-+]?\d/;

/** A table in Markdown, columns of numbers to the right. */
export function markdownTable({ head, rows }: Pick<TextTable, "head" | "rows">): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  const isNumeric = (index: number): boolean => {
    const cells = rows.map((row) => row[index] ?? "").filter((cell) => cell !== "");
    return index > 0 && NUMBER.test(cells[0] ?? "");
  };
  const rule = head.map((_, index) => (isNumeric(index) ? "---:" : "---"));
  return [head, rule, ...rows].map(line).join("\n");
}
