// SPDX-License-Identifier: Apache-2.0
// Writes the Grafana dashboard out of a short table of panels, checked against Grafana's own types.
import type { Dashboard, Panel as GrafanaPanel } from "@grafana/schema";

export interface Query {
  /** PromQL. */
  expr: string;
  legend: string;
}

interface Panel {
  title: string;
  /** Why one looks at it. */
  says: string;
  /** Grafana unit. */
  unit: string;
  stacked?: boolean;
  queries: Query[];
}

const RATE = "[$__rate_interval]";

/** Every panel, row by row, two in a row. */
export const PANELS: Panel[] = [
  {
    title: "Decisions by reason",
    says: "First turns and follow-ups, and what became of them.",
    unit: "reqps",
    stacked: true,
    queries: [
      {
        expr: `sum by (reason) (rate(smetric_decisions{reason!="none"}${RATE}))`,
        legend: "{{reason}}",
      },
    ],
  },
  {
    title: "Prefix cache: found and possible",
    says: "Share of prompt tokens that engines report as cached, beside the share that was served before.",
    unit: "percentunit",
    queries: [
      {
        expr: `sum(rate(smetric_cached_tokens${RATE})) / sum(rate(smetric_reported_prompt_tokens${RATE}))`,
        legend: "cached, as reported",
      },
      {
        expr: `sum(rate(smetric_prefix_tokens${RATE})) / sum(rate(smetric_prompt_tokens${RATE}))`,
        legend: "possible, as estimated",
      },
    ],
  },
  {
    title: "Hit rate by turn",
    says: "Share of prompt tokens that engines report as cached. First turns find what sessions have in common; a later turn that finds little was sent elsewhere, or its prefix is gone.",
    unit: "percentunit",
    queries: [
      {
        expr: `sum by (turns) (rate(smetric_cached_tokens${RATE})) / sum by (turns) (rate(smetric_reported_prompt_tokens${RATE}))`,
        legend: "turn {{turns}}",
      },
    ],
  },
  {
    title: "Pins",
    says: "Pins that are moved tell of endpoints that failed, drained or were ejected.",
    unit: "reqps",
    queries: [{ expr: `sum by (result) (rate(smetric_pins${RATE}))`, legend: "{{result}}" }],
  },
  {
    title: "Follow-ups that missed their prefix",
    says: "In observe mode: what routing would spare. Share of follow-ups that an endpoint without their prefix served.",
    unit: "percentunit",
    queries: [
      {
        expr: `sum(rate(smetric_cold_follow_ups${RATE})) / sum(rate(smetric_follow_ups${RATE}))`,
        legend: "went to a cold endpoint",
      },
      {
        expr: `sum(rate(smetric_recomputed_tokens${RATE})) / sum(rate(smetric_prompt_tokens${RATE}))`,
        legend: "prompt tokens computed again",
      },
    ],
  },
  {
    title: "Admission: held, and would be held",
    says: "A dry run counts the requests that admission would make wait.",
    unit: "reqps",
    queries: [
      {
        expr: `sum by (result) (rate(smetric_admission${RATE}))`,
        legend: "{{result}}",
      },
    ],
  },
  {
    title: "Requests in flight by endpoint",
    says: "How even the load is.",
    unit: "short",
    queries: [{ expr: `smetric_in_flight`, legend: "{{fleet}} {{slot}}" }],
  },
  {
    title: "Load spread",
    says: "Busiest endpoint over the mean, by requests in flight: 1 is even.",
    unit: "short",
    queries: [
      {
        expr: `max by (fleet) (smetric_in_flight) / avg by (fleet) (smetric_in_flight)`,
        legend: "{{fleet}}",
      },
    ],
  },
  {
    title: "Admission: who waits",
    says: "Requests that wait at the moment, and how long they did at the 95th percentile (s).",
    unit: "short",
    queries: [
      { expr: `sum(smetric_held)`, legend: "waiting" },
      {
        expr: `histogram_quantile(0.95, sum by (le) (rate(smetric_hold_ms_bucket${RATE}))) / 1000`,
        legend: "p95, s",
      },
    ],
  },
  {
    title: "Admission: measured capacity, window and residents",
    says: "KV tokens that an endpoint holds, what resident sessions may take of that, and what they take. Residents at the window with requests held: the fleet is full.",
    unit: "short",
    queries: [
      { expr: `smetric_capacity_tokens`, legend: "capacity {{fleet}} {{slot}}" },
      { expr: `smetric_resident_tokens`, legend: "resident {{fleet}} {{slot}}" },
      { expr: `smetric_window_tokens`, legend: "window {{fleet}} {{slot}}" },
    ],
  },
  {
    title: "Turn of conversations",
    says: "Median and 95th percentile of the turn number.",
    unit: "short",
    queries: [
      {
        expr: `histogram_quantile(0.5, sum by (le) (rate(smetric_turn_bucket${RATE})))`,
        legend: "median",
      },
      {
        expr: `histogram_quantile(0.95, sum by (le) (rate(smetric_turn_bucket${RATE})))`,
        legend: "95th percentile",
      },
    ],
  },
  {
    title: "Prefill that is waiting, by endpoint",
    says: "Uncached prompt tokens sent whose first byte has not come back.",
    unit: "short",
    queries: [{ expr: `smetric_pending_prefill_tokens`, legend: "{{fleet}} {{slot}}" }],
  },
  {
    title: "Prompt tokens not computed again",
    says: "Cached tokens per second, as engines report them.",
    unit: "short",
    queries: [{ expr: `sum(rate(smetric_cached_tokens${RATE}))`, legend: "tokens/s" }],
  },
  {
    title: "Streams by outcome",
    says: "stalled and over_cap: a limit on the way is smaller than the prompts.",
    unit: "reqps",
    stacked: true,
    queries: [{ expr: `sum by (outcome) (rate(smetric_streams${RATE}))`, legend: "{{outcome}}" }],
  },
  {
    title: "Latency to the end of the answer",
    says: "Envoy's own measure, all requests.",
    unit: "ms",
    queries: [0.5, 0.95, 0.99].map((quantile) => ({
      expr: `histogram_quantile(${quantile}, sum by (le) (rate(envoy_cluster_upstream_rq_time_bucket${RATE})))`,
      legend: `p${quantile * 100}`,
    })),
  },
  {
    title: "Filter reloads",
    says: "Each one cut the streams of a worker. Must be zero.",
    unit: "short",
    queries: [
      {
        expr: `increase(envoy_wasm_smetric_vm_reload_success[10m])`,
        legend: "reloads in 10 minutes",
      },
    ],
  },
];

const SOURCE = { type: "prometheus", uid: "${source}" };
const COLUMNS = 2;
const WIDTH = 24 / COLUMNS;
const HEIGHT = 8;

function writePanel(panel: Panel, index: number): GrafanaPanel {
  return {
    id: index + 1,
    type: "timeseries",
    title: panel.title,
    description: panel.says,
    datasource: SOURCE,
    gridPos: {
      x: (index % COLUMNS) * WIDTH,
      y: Math.floor(index / COLUMNS) * HEIGHT,
      w: WIDTH,
      h: HEIGHT,
    },
    fieldConfig: {
      defaults: {
        unit: panel.unit,
        min: 0,
        custom: {
          fillOpacity: panel.stacked === true ? 40 : 0,
          stacking: { mode: panel.stacked === true ? "normal" : "none" },
        },
      },
      overrides: [],
    },
    targets: panel.queries.map(({ expr, legend }, query) => ({
      refId: String.fromCharCode("A".charCodeAt(0) + query),
      datasource: SOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}

/** Text of deploy/observability/dashboard.json. */
export function writeDashboard(): string {
  const dashboard: Dashboard = {
    uid: "smetric-envoy",
    title: "smetric-envoy",
    tags: ["envoy", "llm"],
    schemaVersion: 39,
    version: 1,
    editable: true,
    refresh: "10s",
    time: { from: "now-30m", to: "now" },
    templating: {
      list: [{ name: "source", label: "Source", type: "datasource", query: "prometheus" }],
    },
    panels: PANELS.map(writePanel),
  };
  return JSON.stringify(dashboard);
}
