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

/** Title, conditions and notes. */
export function fillText(title: string, conditions: string, notes: readonly string[]): void {
  document.title = title;
  document.getElementById("title")!.textContent = title;
  document.getElementById("conditions")!.textContent = conditions;
  const list = document.getElementById("notes")!;
  for (const note of notes)
    list.append(Object.assign(document.createElement("li"), { textContent: note }));
}
