// SPDX-License-Identifier: Apache-2.0
// Does a follow-up cost the same however many streams are open, sessions known and turns behind it? In the virtual Envoy.
import { VirtualEnvoy } from "../virtual-envoy/index.ts";
import { SessionBodies } from "./session-bodies.ts";
import { spreadOf } from "./statistics.ts";

export interface FlatRow {
  what: "open_streams" | "sessions" | "turn" | "endpoints";
  count: number;
  /** Calls into the host: what a request costs that no clock has to measure. */
  host_calls: number;
  /** Of this process: the filter and the virtual Envoy around it. */
  cpu_us: number;
}

const PATH = "/v1/chat/completions";
const BODY_BYTES = 2_000;
const PROBES = 40;
const WARM_SESSIONS = 300;
/** Steps of one session: the median of agent sessions. */
const STEPS = 36;
const VALUE_PREFIX = "smetric.a.";
/** Sessions whose rows share one value of the affinity table. */
const SESSIONS_PER_VALUE = 4;

const ANSWER = {
  headers: [["content-type", "application/json"]] as [string, string][],
  chunks: [
    JSON.stringify({
      choices: [
        { index: 0, message: { role: "assistant", content: "Done." }, finish_reason: "stop" },
      ],
      usage: {
        prompt_tokens: 1_000,
        completion_tokens: 5,
        prompt_tokens_details: { cached_tokens: 990 },
      },
    }),
  ],
};

interface Bench {
  envoy: VirtualEnvoy;
  bodies: SessionBodies;
  named: number;
}

function start(wasm: string, endpointCount = 4, affinitySessions = 65_536): Bench {
  const endpoints = Array.from({ length: endpointCount }, (_, index) => `10.0.0.${index + 1}:8000`);
  const envoy = new VirtualEnvoy({
    wasm,
    endpoints,
    configuration: { affinity_sessions: affinitySessions },
    trace: false,
    keepBodies: false,
    countHostCalls: true,
  });
  const bench = { envoy, bodies: new SessionBodies(BODY_BYTES, false), named: 0 };
  for (let i = 0; i < WARM_SESSIONS; i++) send(bench, `warm-${i % 30}`, Math.floor(i / 30));
  for (let i = 0; i < 3 * endpointCount; i++) send(bench, `found-${i}`, 0);
  return bench;
}

function send({ envoy, bodies }: Bench, session: string, steps: number): void {
  envoy.request({ path: PATH, body: bodies.body(session, steps), response: ANSWER });
  envoy.tick(1);
}

function hostCalls({ envoy }: Bench): number {
  return [...envoy.hostCalls.values()].reduce((sum, count) => sum + count, 0);
}

/** A session that came this far goes on; the cheapest of a few, because other load only makes one slower. */
function probe(
  bench: Bench,
  what: FlatRow["what"],
  count: number,
  steps = STEPS,
  padding = "",
): FlatRow {
  const cpu: number[] = [];
  const calls: number[] = [];
  for (let i = 0; i < PROBES; i++) {
    const session = `probe-${++bench.named}${padding}`;
    for (let step = Math.max(0, steps - 3); step < steps; step++) send(bench, session, step);
    const body = bench.bodies.body(session, steps);
    const callsBefore = hostCalls(bench);
    const before = process.cpuUsage();
    bench.envoy.request({ path: PATH, body, response: ANSWER });
    const { user, system } = process.cpuUsage(before);
    cpu.push(user + system);
    calls.push(hostCalls(bench) - callsBefore);
  }
  const [host_calls, cpu_us] = [spreadOf(calls).median, Math.round(spreadOf(cpu).quartile)];
  return { what, count, host_calls, cpu_us };
}

function openStreams(bench: Bench, count: number): void {
  while (bench.envoy.open < count) {
    const body = bench.bodies.body(`open-${bench.envoy.open}`, 0);
    if (bench.envoy.open % 2 === 0) {
      bench.envoy.send({ path: PATH, body, response: false });
      continue;
    }
    const held = bench.envoy.openStream({ path: PATH });
    held.sendChunk(body.subarray(0, 60));
  }
}

/** As if that many sessions were known: every value of the table is there, as full as one that was really filled. */
function fillTable({ envoy }: Bench, sessions: number): void {
  const keys = envoy.sharedData.keys("smetric").filter((key) => key.startsWith(VALUE_PREFIX));
  const values = keys.map((key) => envoy.sharedData.get("smetric", key)!.bytes);
  const fullest = values.reduce((most, value) => (value.length > most.length ? value : most));
  for (let index = 0; index < sessions / SESSIONS_PER_VALUE; index++) {
    const key = VALUE_PREFIX + index.toString(16).padStart(8, "0");
    if (envoy.sharedData.get("smetric", key) === undefined) {
      envoy.sharedData.set("smetric", key, fullest, 0);
    }
  }
}

/** Bodies of the same size, however many turns they hold. */
function probeTurns(bench: Bench, turns: number[]): FlatRow[] {
  const sizeOf = (turn: number): number => bench.bodies.body("", turn).length;
  const most = Math.max(...turns.map(sizeOf));
  return turns.map((turn) => probe(bench, "turn", turn, turn, "x".repeat(most - sizeOf(turn))));
}

export interface FlatCounts {
  open: number[];
  sessions: number[];
  turns: number[];
  endpoints: number[];
}

export const FLAT_COUNTS: FlatCounts = {
  open: [1, 100, 10_000],
  sessions: [1, 1_000, 100_000, 1_000_000],
  turns: [2, 36, 100, 500],
  endpoints: [4, 16, 64, 256],
};

/** @param wasm path of the compiled filter */
export function benchFlatness(wasm: string, counts: FlatCounts = FLAT_COUNTS): FlatRow[] {
  const rows: FlatRow[] = [];
  const crowded = start(wasm);
  for (const count of counts.open) {
    openStreams(crowded, count);
    rows.push(probe(crowded, "open_streams", count));
  }
  for (const count of counts.sessions) {
    // As few values as a test may ask for, so that those read are full ones.
    const known = start(wasm, 4, Math.max(64, Math.min(count, 1_048_576)));
    for (let i = 0; i < 200; i++) send(known, `known-${i}`, 1);
    fillTable(known, count);
    rows.push(probe(known, "sessions", count));
  }
  rows.push(...probeTurns(start(wasm), counts.turns));
  for (const count of counts.endpoints) rows.push(probe(start(wasm, count), "endpoints", count));
  return rows;
}
