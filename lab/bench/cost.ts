// SPDX-License-Identifier: Apache-2.0
// What a request costs: CPU time of real Envoys without a filter, with ones that do little, and with smetric.
import { buildFilter } from "../../cli/build.ts";
import { type CallbackTimes, callbackTimes } from "./callback-times.ts";
import { type Arm, type Cell, closeArm, measureCells, openArm, type Times } from "./cost-cell.ts";
import { buildYardstick, type YardstickFilter } from "./filters.ts";
import { startGateway } from "./gateway.ts";
import { SessionBodies } from "./session-bodies.ts";
import { fitLine, type Point, type Spread, spreadOf } from "./statistics.ts";
import { EVENTS, WireServer } from "./wire-server.ts";

export type Proxy = "envoy" | "envoy-empty-wasm" | "envoy-copy-wasm" | "smetric";

export interface CostRow {
  proxy: Proxy;
  body_bytes: number;
  streaming: boolean;
  cpu_us_per_request: number;
  /** Over the row of `envoy` with the same size and streaming. */
  ratio_to_envoy: number;
  /** The lowest round and the median; the measure is the lower quartile. */
  spread_us: [number, number];
}

/** What smetric costs over the empty filter. */
export interface CostFit {
  fixed_us: number;
  us_per_mib: number;
  /** Of the reader alone: without the copy into the filter. */
  scan_gb_per_s: number;
}

/** One filter's cost over the empty one at one size. */
export interface CostStep {
  body_bytes: number;
  smetric_us: number;
  copy_us: number;
  spread_us: [number, number];
}

/** What a filter costs over an empty one, from the lowest rounds. */
export interface FollowUp {
  /** It is the only one: its code and data are where Envoy has left the caches. */
  alone_us: number;
  /** Each further one of a row, whose code is warm from the one before. */
  further_us: number;
}

export interface CostReport {
  rows: CostRow[];
  fit: CostFit;
  steps: CostStep[];
  /** A request that is looked for in vain at every boundary and then stored, over a follow-up of the same size. */
  worst_extra_us: number;
  us_per_sse_chunk: number;
  /** A follow-up of 2 KB through the filter, and through one that only makes the same calls into Envoy. */
  follow_up: { smetric: FollowUp; calls: FollowUp };
  /** What a filter calls besides because it is one of a row: less to pay where there is one. */
  row_calls_us: number;
  /** Of a filter that is alone, for a follow-up. */
  callbacks_us: CallbackTimes;
}

export interface CostOptions {
  /** Wanted sizes of bodies; at least two. */
  sizes?: number[];
  rounds?: number;
  /** Identical filters in a row: what one costs is their difference over their number. */
  copies?: number;
  progress?: (line: string) => void;
}

export const SIZES = [2_000, 16_000, 100_000, 220_000, 1_000_000, 6_000_000];
const ENDPOINTS = 4;
const ROUNDS = 25;
const COPIES = 8;
const MIB = 1024 * 1024;
/** A batch sends about as many bytes, so that large bodies take no longer than small ones. */
const BATCH_BYTES = 6_000_000;
const MAX_STEPS = 10;
const MAX_SESSIONS = 16;
/** Each streamed answer is dozens of callbacks. */
const STREAMED_SESSIONS = 2;
const SMALL_BYTES = 2_000;

const PROXIES: Proxy[] = ["envoy", "envoy-empty-wasm", "envoy-copy-wasm", "smetric"];
const CHAINS = ["empty-chain", "copy-chain", "smetric-chain"];
/** Also in the cell of a small follow-up: filters that only call, and the filter that times its callbacks. */
const YARDSTICKS: Yardstick[] = [
  { name: "calls", filter: "calls", isAlone: true },
  { name: "calls-chain", filter: "calls", isAlone: false },
  { name: "chained-calls-chain", filter: "chained-calls", isAlone: false },
  { name: "timed", filter: "timed", isAlone: true },
];

interface Yardstick {
  name: string;
  filter: YardstickFilter;
  isAlone: boolean;
}

interface Lab {
  rows: Arm[];
  chains: Arm[];
  yardsticks: Arm[];
  copies: number;
  rounds: number;
  stop(): Promise<void>;
}

async function openLab(options: CostOptions): Promise<Lab> {
  const copies = options.copies ?? COPIES;
  const wasm = [await buildYardstick("empty"), await buildYardstick("copy"), await buildFilter()];
  const server = await WireServer.start(ENDPOINTS);
  const arms: Arm[] = [];
  const open = async (name: string, module: string | undefined, count: number): Promise<void> => {
    const chosen = module === undefined ? {} : { wasm: module, copies: count };
    const envoy = await startGateway({ endpoints: server.endpoints, ...chosen });
    arms.push(await openArm(name, envoy, server));
  };
  const stop = async (): Promise<void> => {
    for (const arm of arms) await closeArm(arm);
    server.stop();
  };
  try {
    for (const [index, name] of PROXIES.entries()) await open(name, wasm[index - 1], 1);
    for (const [index, name] of CHAINS.entries()) await open(name, wasm[index], copies);
    for (const { name, filter, isAlone } of YARDSTICKS) {
      await open(name, await buildYardstick(filter), isAlone ? 1 : copies);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  const rows = arms.slice(0, PROXIES.length);
  return {
    rows,
    chains: arms.slice(PROXIES.length, PROXIES.length + CHAINS.length),
    yardsticks: arms.slice(PROXIES.length + CHAINS.length),
    copies,
    rounds: options.rounds ?? ROUNDS,
    stop,
  };
}

function cellOf(arms: Arm[], bytes: number, streaming: boolean): Cell {
  const requests = Math.max(2, Math.min(MAX_SESSIONS * MAX_STEPS, Math.floor(BATCH_BYTES / bytes)));
  const steps = Math.min(MAX_STEPS, requests);
  const sessions = Math.max(1, Math.floor(requests / steps));
  const most = streaming ? STREAMED_SESSIONS : MAX_SESSIONS;
  return {
    arms,
    bodies: new SessionBodies(bytes, streaming),
    streaming,
    sessions: Math.min(most, sessions),
    steps,
  };
}

function round(value: number, digits = 1): number {
  return Number(value.toFixed(digits));
}

function rowsOf(times: Times, cell: Cell): CostRow[] {
  const spreads = PROXIES.map((proxy) => spreadOf(times.get(proxy) ?? []));
  const base = round(spreads[0]?.quartile ?? 0);
  return PROXIES.map((proxy, index) => {
    const { lowest, quartile, median } = spreads[index]!;
    return {
      proxy,
      body_bytes: cell.bodies.bytes,
      streaming: cell.streaming,
      cpu_us_per_request: round(quartile),
      ratio_to_envoy: round(round(quartile) / base, 3),
      spread_us: [round(lowest), round(median)],
    };
  });
}

/** What one filter of a chain costs over one of the empty chain. */
function overEmpty(times: Times, chain: string, copies: number): Spread {
  const empty = spreadOf(times.get("empty-chain") ?? []);
  const own = spreadOf(times.get(chain) ?? []);
  const difference = (of: keyof Spread): number => (own[of] - empty[of]) / copies;
  return {
    lowest: difference("lowest"),
    quartile: difference("quartile"),
    median: difference("median"),
  };
}

function stepOf(times: Times, bytes: number, copies: number): CostStep {
  const { lowest, quartile, median } = overEmpty(times, "smetric-chain", copies);
  return {
    body_bytes: bytes,
    smetric_us: round(quartile, 2),
    copy_us: round(overEmpty(times, "copy-chain", copies).quartile, 2),
    spread_us: [round(lowest, 2), round(median, 2)],
  };
}

/** Errors of a measure: half its spread, and no less than a twentieth of it, so that no lucky cell rules. */
function pointOf(step: CostStep, us: number): Point {
  const error = Math.abs(step.spread_us[1] - step.spread_us[0]) / 2;
  return { x: step.body_bytes, y: us, error: Math.max(error, step.smetric_us / 20, 0.5) };
}

function fitOf(steps: CostStep[]): CostFit {
  const { offset, slope } = fitLine(steps.map((step) => pointOf(step, step.smetric_us)));
  const copy = fitLine(steps.map((step) => pointOf(step, step.copy_us)));
  return {
    fixed_us: round(offset, 2),
    us_per_mib: round(slope * MIB),
    scan_gb_per_s: round(1 / (slope - copy.slope) / 1_000, 2),
  };
}

/** All cells: each size with both kinds of answer, then what only the chains are asked. */
function cellsOf(lab: Lab, sizes: number[]): Cell[] {
  const all = [...lab.rows, ...lab.chains];
  const alone = lab.rows.filter(({ name }) => name !== "envoy");
  const plain = cellOf([...alone, ...lab.chains, ...lab.yardsticks], SMALL_BYTES, false);
  return [
    ...sizes.flatMap((bytes) => [cellOf(all, bytes, false), cellOf(lab.rows, bytes, true)]),
    plain,
    cellOf(lab.chains, SMALL_BYTES, true),
    { ...plain, arms: lab.chains, sessions: plain.sessions * plain.steps, cold: true },
  ];
}

/** What arms with one filter and with a row of them say of it, each over the empty ones. */
function followUpOf(times: Times, alone: string, chain: string, copies: number): FollowUp {
  const lowest = (name: string): number => spreadOf(times.get(name) ?? []).lowest;
  const one = lowest(alone) - lowest("envoy-empty-wasm");
  const row = lowest(chain) - lowest("empty-chain");
  return { alone_us: round(one, 2), further_us: round((row - one) / (copies - 1), 2) };
}

type Extras = Pick<
  CostReport,
  "worst_extra_us" | "us_per_sse_chunk" | "follow_up" | "row_calls_us"
>;

/** A follow-up, the same with a streamed answer, and a request that nothing is known of. */
function extrasOf(extras: Times[], copies: number): Extras {
  const [followUp = 0, streamed = 0, cold = 0] = extras.map(
    (times) => overEmpty(times, "smetric-chain", copies).quartile,
  );
  const plain = extras[0] ?? new Map<string, number[]>();
  const [calls = 0, chained = 0] = ["calls-chain", "chained-calls-chain"].map(
    (name) => overEmpty(plain, name, copies).lowest,
  );
  return {
    worst_extra_us: round(cold - followUp, 2),
    us_per_sse_chunk: round((streamed - followUp) / (EVENTS + 1), 2),
    follow_up: {
      smetric: followUpOf(plain, "smetric", "smetric-chain", copies),
      calls: followUpOf(plain, "calls", "calls-chain", copies),
    },
    row_calls_us: round(chained - calls, 2),
  };
}

/**
 * Runs real Envoys side by side on this machine and compares them.
 * @throws Failure when an Envoy does not start or does not answer 200
 */
export async function benchCost(options: CostOptions = {}): Promise<CostReport> {
  const sizes = options.sizes ?? SIZES;
  options.progress?.("starting Envoys");
  const lab = await openLab(options);
  const cells = cellsOf(lab, sizes);
  options.progress?.(`${lab.rounds} rounds of ${cells.length} cells`);
  let times: Times[];
  try {
    times = await measureCells(cells, lab.rounds);
  } finally {
    await lab.stop();
  }
  const timed = lab.yardsticks[YARDSTICKS.findIndex(({ filter }) => filter === "timed")]!;
  const sized = cells.slice(0, 2 * sizes.length);
  const steps = sized.flatMap((cell, index) =>
    cell.streaming ? [] : [stepOf(times[index]!, cell.bodies.bytes, lab.copies)],
  );
  return {
    rows: sized.flatMap((cell, index) => rowsOf(times[index]!, cell)),
    fit: fitOf(steps),
    steps,
    ...extrasOf(times.slice(sized.length), lab.copies),
    callbacks_us: callbackTimes(timed.envoy.log()),
  };
}
