// SPDX-License-Identifier: Apache-2.0
// What a study is: runs fixed beforehand, and what is written about them afterwards.
import type { Disturbance, FleetPlan } from "../replay/drivers/driver.ts";
import type { Measures } from "../replay/measures/measures.ts";
import type { LoadPlan } from "../replay/plan.ts";

/** How much of a study runs: minutes, an hour or two, or many hours. */
export type Size = "quick" | "default" | "full";

/** One replay of one arm in virtual time: everything that decides its numbers. */
export interface RunSpec {
  /** Name of the cell of the study; free for the study to choose. */
  cell: string;
  /** Workload, as `replay --trace` takes it. */
  trace: string;
  /** Sessions of the coding-agent trace: one half to tune on, the other to report. */
  half: "even" | "odd";
  fleet: FleetPlan;
  load: LoadPlan;
  minutes: number;
  seed: number;
  /** Policy, as `replay --policies` takes it. */
  arm: string;
  /** Fields of the filter's configuration beside `policy`, for arms that run the filter. */
  configuration?: object;
  /** What goes wrong or changes; nothing unless said otherwise. */
  disturbance?: Partial<Disturbance>;
  /** Gateways in front of the fleet, one unless said otherwise. */
  gateways?: number;
  /** Bytes of body per token, an eighth of the real ones unless said otherwise. */
  bytesPerToken?: number;
  /** The filter knows that ratio from the start, as it does after its first answer. */
  knowsText?: boolean;
}

/** The measures of docs/measures.md without those that are lists by endpoint or turn. */
export type RunMeasures = Omit<Measures, "by_turn" | "endpoint_tokens" | "jct_by_size_s">;

/** Runs that are done. */
export interface Results {
  get(spec: RunSpec): RunMeasures | undefined;
}

/** A chart of the page: bars or lines over the same labels. */
export interface Panel {
  title: string;
  /** One line below the title. */
  text: string;
  kind: "bar" | "line";
  labels: string[];
  /** Null where there is nothing to show. */
  series: { name: string; values: (number | null)[]; color?: string }[];
  /** How values are written: 0.5 is 50 % or 0.5, 1,500 is 2 k. */
  unit: "percent" | "thousands" | "number";
  logarithmic?: boolean;
  stacked?: boolean;
  /** Smallest and largest value of the axis, where the chart should not choose. */
  range?: [least: number, most: number];
}

/** A table of the page and of the Markdown section; the first column is left-aligned. */
export interface TextTable {
  title: string;
  head: string[];
  rows: string[][];
}

/** What a study has found, in the order of reading. */
export interface Findings {
  /** Markdown of the section without its heading. */
  markdown: string;
  panels: Panel[];
  /** Tables of the page below its charts. */
  tables: TextTable[];
  /** Figures that the text was written from, for `--json`; names in snake_case. */
  figures: object;
}

/** A question with its runs and its answer. Pure: the same results give the same findings. */
export interface Study {
  /** Word on the command line, name of the section and of the file of figures. */
  readonly name: string;
  readonly title: string;
  /** Seconds of one core that a run takes about: only for what is said beforehand. */
  readonly secondsPerRun: number;
  /** The most runs that `runs` will ask for. */
  mostRuns(size: Size): number;
  /**
   * All runs that are known to be needed, those that are done included. Asked again after every round until it
   * names no new ones: a later round may depend on what an earlier one found.
   */
  runs(size: Size, done: Results): RunSpec[];
  findings(size: Size, done: Results): Findings;
}
