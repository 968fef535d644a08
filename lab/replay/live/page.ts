// SPDX-License-Identifier: Apache-2.0
/// <reference lib="dom" />
/// <reference lib="dom.iterable" />
// The live page's script: charts and numbers of every arm, redrawn as events arrive.
import { Chart, type ChartConfiguration, type ChartDataset, registerables } from "chart.js";
import type { ArmPoint, ArmState, ArmTotals, LiveEvent, LiveState } from "./state.ts";

Chart.register(...registerables);

const ARM_COLORS: Record<string, string> = {
  filter: "#0d9488",
  "least-request": "#f97316",
  "round-robin": "#a855f7",
  "session-hash": "#3b82f6",
};
const ENDPOINT_COLORS = [
  "#0d9488",
  "#f59e0b",
  "#6366f1",
  "#ec4899",
  "#84cc16",
  "#06b6d4",
  "#ef4444",
  "#8b5cf6",
];
const SPARE_COLOR = "#64748b";
const POSSIBLE_COLOR = "#94a3b8";

/** What an arm is, in a user's words. */
const ARM_TEXT: Record<string, string> = {
  filter: "with the filter: follow-ups go home",
  "least-request": "Envoy's least request",
  "round-robin": "Envoy's round robin",
  "session-hash": "ring hash on a session id that clients send",
};

type LinePoint = { x: number; y: number | null };
type LineData = ChartDataset<"line", LinePoint[]>;

function byId<E extends HTMLElement>(id: string): E {
  return document.getElementById(id) as E;
}

function css(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function colorOf(arm: string): string {
  return ARM_COLORS[arm] ?? SPARE_COLOR;
}

function line(label: string, color: string, dashed = false): LineData {
  return {
    label,
    data: [],
    borderColor: color,
    backgroundColor: color,
    borderWidth: 2,
    borderDash: dashed ? [5, 4] : [],
    pointRadius: 0,
    tension: 0.25,
    spanGaps: true,
  };
}

function lineChart(
  canvas: HTMLCanvasElement,
  unit: "share" | "seconds" | "count",
): Chart<"line", LinePoint[]> {
  const percent = unit === "share";
  const config: ChartConfiguration<"line", LinePoint[]> = {
    type: "line",
    data: { datasets: [] },
    options: {
      animation: false,
      parsing: false,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      scales: {
        x: {
          type: "linear",
          min: 0,
          grid: { display: false },
          ticks: { color: css("--quiet"), callback: (value) => `${value} s` },
        },
        y: {
          min: 0,
          ...(percent ? { max: 1 } : {}),
          grid: { color: css("--line") },
          ticks: {
            color: css("--quiet"),
            callback: (value) => (percent ? `${Math.round(Number(value) * 100)} %` : value),
          },
        },
      },
      plugins: {
        legend: {
          labels: { color: css("--ink"), boxWidth: 14, boxHeight: 2 },
          display: unit !== "count",
        },
      },
    },
  };
  return new Chart(canvas, config);
}

function barChart(canvas: HTMLCanvasElement, endpoints: number): Chart<"bar", number[], string> {
  const labels = Array.from({ length: endpoints }, (_, index) => String(index + 1));
  const colors = labels.map((_, index) => ENDPOINT_COLORS[index % ENDPOINT_COLORS.length]!);
  return new Chart(canvas, {
    type: "bar",
    data: { labels, datasets: [{ data: [], backgroundColor: colors, borderRadius: 4 }] },
    options: {
      animation: false,
      maintainAspectRatio: false,
      scales: {
        x: { grid: { display: false }, ticks: { color: css("--quiet"), maxRotation: 0 } },
        y: {
          min: 0,
          max: 1,
          grid: { color: css("--line") },
          ticks: {
            color: css("--quiet"),
            callback: (value) => `${Math.round(Number(value) * 100)} %`,
          },
        },
      },
      plugins: { legend: { display: false } },
    },
  });
}

/** The card of one arm: load and hit rate of each of its endpoints. */
class ArmCard {
  private readonly load: Chart<"line", LinePoint[]>;
  private readonly hits: Chart<"bar", number[], string>;
  private readonly text: HTMLElement;

  constructor(parent: HTMLElement, arm: ArmState) {
    const card = document.createElement("div");
    card.className = "card";
    card.innerHTML = `<h2><span class="dot"></span><span class="name"></span></h2>
      <p class="quiet"></p>
      <div class="endpoints">
        <div><div class="plot low"><canvas></canvas></div></div>
        <div><div class="plot low"><canvas></canvas></div></div>
      </div>
      <p class="quiet">left: requests in flight per GPU, mean over 30 s; right: share of its prompt tokens found in its cache</p>`;
    card.querySelector<HTMLElement>(".dot")!.style.background = colorOf(arm.name);
    card.querySelector(".name")!.textContent = ARM_TEXT[arm.name] ?? arm.name;
    this.text = card.querySelector(".quiet")!;
    parent.append(card);
    const [first, second] = card.querySelectorAll("canvas");
    const endpoints = arm.totals.endpointHitRate.length;
    this.load = lineChart(first!, "count");
    this.load.data.datasets = Array.from({ length: endpoints }, (_, index) =>
      line(`GPU ${index + 1}`, ENDPOINT_COLORS[index % ENDPOINT_COLORS.length]!),
    );
    this.hits = barChart(second!, endpoints);
  }

  add(point: ArmPoint): void {
    point.inFlight.forEach((count, index) => {
      this.load.data.datasets[index]?.data.push({ x: point.t, y: count });
    });
  }

  draw(totals: ArmTotals): void {
    this.load.update("none");
    this.hits.data.datasets[0]!.data = totals.endpointHitRate;
    this.hits.update("none");
    const mean =
      totals.endpointTokens.reduce((sum, tokens) => sum + tokens, 0) / totals.endpointTokens.length;
    const spread = mean === 0 ? 1 : Math.max(...totals.endpointTokens) / mean;
    this.text.textContent = `${totals.requests} requests, ${totals.finishedSessions} sessions finished, ${totals.errors} errors, busiest GPU ${spread.toFixed(2)} × the mean`;
  }
}

interface Tile {
  name: string;
  value: (totals: ArmTotals) => string;
}

const TILES: Tile[] = [
  { name: "KV cache hit rate", value: (t) => `${(t.hitRate * 100).toFixed(1)} %` },
  { name: "TTFT, median", value: (t) => `${t.ttftP50S.toFixed(2)} s` },
  { name: "TTFT, 99th percentile", value: (t) => `${t.ttftP99S.toFixed(1)} s` },
  { name: "tokens per second", value: (t) => `${(t.tokensPerS / 1000).toFixed(1)} k` },
];

/** Everything on the page. */
class Page {
  private readonly hits = lineChart(byId("hits"), "share");
  private readonly ttft = lineChart(byId("ttft"), "seconds");
  private readonly cards = new Map<string, ArmCard>();
  private arms: ArmState[] = [];

  apply(event: LiveEvent): void {
    if (event.type === "state") this.reset(event.state);
    else if (event.type === "phase") byId("phase").textContent = event.phase;
    else this.addPoint(event.arm, event.point, event.totals);
  }

  private reset(state: LiveState): void {
    byId("title").textContent = state.title;
    byId("facts").textContent = state.facts.join(" · ");
    byId("phase").textContent = state.phase;
    byId("arms").replaceChildren();
    this.cards.clear();
    this.hits.data.datasets = [];
    this.ttft.data.datasets = [];
    this.arms = state.arms;
    for (const arm of state.arms) {
      this.cards.set(arm.name, new ArmCard(byId("arms"), arm));
      this.hits.data.datasets.push(line(arm.name, colorOf(arm.name)));
      this.ttft.data.datasets.push(line(arm.name, colorOf(arm.name)));
    }
    this.hits.data.datasets.push(line("possible", POSSIBLE_COLOR, true));
    for (const arm of state.arms) for (const point of arm.points) this.place(arm.name, point);
    this.draw();
  }

  private addPoint(name: string, point: ArmPoint, totals: ArmTotals): void {
    const arm = this.arms.find((candidate) => candidate.name === name);
    if (arm === undefined) return;
    arm.totals = totals;
    this.place(name, point);
    this.draw();
  }

  private place(name: string, point: ArmPoint): void {
    const index = this.arms.findIndex((arm) => arm.name === name);
    this.hits.data.datasets[index]?.data.push({ x: point.t, y: point.hitRate });
    this.ttft.data.datasets[index]?.data.push({ x: point.t, y: point.ttftP50S });
    const possible = this.hits.data.datasets[this.arms.length];
    if (index === 0) possible?.data.push({ x: point.t, y: point.hitPossible });
    this.cards.get(name)?.add(point);
  }

  private draw(): void {
    this.hits.update("none");
    this.ttft.update("none");
    for (const arm of this.arms) this.cards.get(arm.name)?.draw(arm.totals);
    this.drawTiles();
  }

  private drawTiles(): void {
    const [ours, ...others] = this.arms;
    if (ours === undefined) return;
    const tiles = TILES.map(({ name, value }) => {
      const rows = others
        .map((arm) => `<li><span>${arm.name}</span><span>${value(arm.totals)}</span></li>`)
        .join("");
      return `<div class="card tile"><p class="quiet">${name}</p>
        <div class="value" style="color:${colorOf(ours.name)}">${value(ours.totals)}</div><ul>${rows}</ul></div>`;
    });
    byId("tiles").innerHTML = tiles.join("");
  }
}

const page = new Page();
const events = new EventSource("/events");
events.onmessage = (message) => page.apply(JSON.parse(message.data as string) as LiveEvent);
events.onerror = () => {
  byId("phase").textContent = "ended";
  events.close();
};
