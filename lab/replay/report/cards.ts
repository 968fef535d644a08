// SPDX-License-Identifier: Apache-2.0
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
// What pages of charts have in common: colors, cards, and the text above them.
import { Chart, registerables } from "chart.js";

Chart.register(...registerables);

export const COLORS = [
  "#0d9488",
  "#f97316",
  "#6366f1",
  "#ec4899",
  "#84cc16",
  "#06b6d4",
  "#a855f7",
  "#64748b",
];
export const POSSIBLE_COLOR = "#94a3b8";

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

Chart.defaults.color = css("--quiet");
Chart.defaults.borderColor = css("--line");
Chart.defaults.animation = false;
Chart.defaults.maintainAspectRatio = false;

/** A card with a title, a line below it and an empty canvas. */
export function canvasFor(title: string, text: string): HTMLCanvasElement {
  const card = document.createElement("div");
  card.className = "card";
  const heading = document.createElement("h2");
  heading.textContent = title;
  const note = document.createElement("p");
  note.className = "quiet";
  note.textContent = text;
  const plot = document.createElement("div");
  plot.className = "plot";
  const canvas = document.createElement("canvas");
  plot.append(canvas);
  card.append(heading, note, plot);
  document.getElementById("charts")!.append(card);
  return canvas;
}

/** Settings in one line, names as the flags have them. */
export function conditionsOf(config: Record<string, unknown>): string {
  return Object.entries(config)
    .map(([name, value]) => `${name.replaceAll("_", " ")} ${String(value)}`)
    .join(" · ");
}

/** Fills the page's table of numbers. */
export function fillNumbers(head: readonly string[], rows: readonly (readonly string[])[]): void {
  const table = document.getElementById("numbers") as HTMLTableElement;
  const names = table.createTHead().insertRow();
  for (const name of head) {
    names.append(Object.assign(document.createElement("th"), { textContent: name }));
  }
  const body = table.createTBody();
  for (const cells of rows) {
    const row = body.insertRow();
    for (const cell of cells) row.insertCell().textContent = cell;
  }
}

/** Title, conditions and notes. */
export function fillText(title: string, conditions: string, notes: readonly string[]): void {
  document.title = title;
  document.getElementById("title")!.textContent = title;
  document.getElementById("conditions")!.textContent = conditions;
  const list = document.getElementById("notes")!;
  for (const note of notes)
    list.append(Object.assign(document.createElement("li"), { textContent: note }));
}
