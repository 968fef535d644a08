// SPDX-License-Identifier: Apache-2.0
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
// The script of the page of results: the charts and tables of each study, one study below the other.
import { Chart, type ChartDataset } from "chart.js";
import { canvasFor, COLORS, fillText } from "../replay/report/cards.ts";
import type { EvidencePage } from "./html.ts";
import type { Panel, TextTable } from "./study.ts";

const page = (window as unknown as { REPORT: EvidencePage }).REPORT;

function textOf(unit: Panel["unit"], value: number): string {
  if (unit === "percent") return `${Math.round(value * 1000) / 10} %`;
  if (unit === "thousands") return `${Math.round(value / 1000)} k`;
  return String(value);
}

function draw(panel: Panel): void {
  const { kind, labels, unit, stacked = false } = panel;
  const datasets = panel.series.map(({ name, values, color }, index) => {
    const own = color ?? COLORS[index % COLORS.length]!;
    return { label: name, data: values, backgroundColor: own, borderColor: own, borderRadius: 3 };
  }) as ChartDataset<"bar" | "line", (number | null)[]>[];
  const ticks = { callback: (value: number | string) => textOf(unit, Number(value)) };
  const [min, max] = panel.range ?? [];
  const y = panel.logarithmic
    ? { type: "logarithmic" as const, ticks, min, max }
    : { type: "linear" as const, stacked, ticks, min, max };
  new Chart(canvasFor(panel.title, panel.text), {
    type: kind,
    data: { labels, datasets },
    options: {
      scales: { x: { stacked, grid: { display: false } }, y },
      plugins: {
        legend: { display: panel.series.length > 1, labels: { boxWidth: 12 } },
        tooltip: {
          callbacks: {
            label: ({ dataset, parsed }) => `${dataset.label}: ${textOf(unit, Number(parsed.y))}`,
          },
        },
      },
    },
  });
}

function rowOf(cells: readonly string[], tag: "th" | "td"): HTMLTableRowElement {
  const row = document.createElement("tr");
  for (const text of cells) {
    row.append(Object.assign(document.createElement(tag), { textContent: text }));
  }
  return row;
}

/** A card of its own, above the template's empty one. */
function addTable({ title, head, rows }: TextTable): void {
  const card = document.createElement("div");
  card.className = "card wide";
  card.style.marginBottom = "16px";
  const heading = Object.assign(document.createElement("h2"), { textContent: title });
  const table = document.createElement("table");
  table.append(rowOf(head, "th"), ...rows.map((row) => rowOf(row, "td")));
  card.append(heading, table);
  document.getElementById("charts")!.after(card);
}

fillText("Results", page.conditions, page.notes);
for (const study of page.studies) study.panels.forEach(draw);
// Each goes right below the charts, so the last one comes first.
for (const table of page.studies.flatMap((study) => study.tables).reverse()) addTable(table);
