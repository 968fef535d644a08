// SPDX-License-Identifier: Apache-2.0
// One cell of the comparison: the same sessions through several busy Envoys, in short batches, turn and turn about.
import type { RunningEnvoy } from "../../envoy/launcher.ts";
import { cpuTimeUs } from "./cpu-time.ts";
import type { SessionBodies } from "./session-bodies.ts";
import { type SendOptions, WireClient } from "./wire-client.ts";
import type { WireServer } from "./wire-server.ts";

/** One Envoy and the connections to it. */
export interface Arm {
  name: string;
  envoy: RunningEnvoy;
  clients: WireClient[];
}

/** Connections that keep a worker busy: one that sleeps between requests finds its code and data out of the caches. */
const CONNECTIONS = 16;

export interface Cell {
  arms: Arm[];
  bodies: SessionBodies;
  streaming: boolean;
  /** Sessions of a batch, and follow-ups of each. */
  sessions: number;
  steps: number;
  /** Every request begins a session whose history nobody has seen, under a key of its own. */
  cold?: boolean;
}

/** Exchanges that each session of a cold cell brings along: more boundaries than are looked up. */
const COLD_STEPS = 14;
/** Rounds before the first that counts: every Envoy opens its connections and fills its tables. */
const WARM_ROUNDS = 3;

let named = 0;

/** Opens the connections of an Envoy that runs. */
export async function openArm(name: string, envoy: RunningEnvoy, server: WireServer): Promise<Arm> {
  const opened = Array.from({ length: CONNECTIONS }, () => WireClient.open(envoy.url, server));
  return { name, envoy, clients: await Promise.all(opened) };
}

/** Ends what `openArm` opened, and the Envoy. */
export async function closeArm(arm: Arm): Promise<void> {
  for (const client of arm.clients) client.close();
  await arm.envoy.stop();
}

interface Sent {
  body: Buffer;
  options: SendOptions;
}

/** What one session sends while the clock runs. */
function requestsOf(session: string, cell: Cell): Sent[] {
  const { bodies, streaming, steps, cold } = cell;
  if (cold) {
    const options = { streaming, headers: `x-agent-session: ${session}\r\n` };
    return [{ body: bodies.body(session, COLD_STEPS), options }];
  }
  return Array.from({ length: steps }, (_, step) => ({
    body: bodies.body(session, step + 1),
    options: { streaming },
  }));
}

/** Follow-ups of fresh sessions, dealt out to the connections; the first request of each is sent before the clock starts. */
async function runBatch(arm: Arm, cell: Cell): Promise<number> {
  const queues: Sent[][] = arm.clients.map(() => []);
  for (let index = 0; index < cell.sessions; index++) {
    const at = index % arm.clients.length;
    const session = `session-${++named}`;
    queues[at]?.push(...requestsOf(session, cell));
    if (cell.cold) continue;
    await arm.clients[at]?.send(cell.bodies.body(session, 0), { streaming: cell.streaming });
  }
  const before = cpuTimeUs(arm.envoy.pid);
  await Promise.all(arm.clients.map((client, at) => sendAll(client, queues[at] ?? [])));
  return (cpuTimeUs(arm.envoy.pid) - before) / queues.flat().length;
}

async function sendAll(client: WireClient, queue: Sent[]): Promise<void> {
  for (const { body, options } of queue) await client.send(body, options);
}

/** CPU time of each request in microseconds, by arm and round. */
export type Times = Map<string, number[]>;

/**
 * Measures all cells in turn, round for round: what else the machine does comes and goes within seconds, and so
 * meets all cells and arms alike.
 */
export async function measureCells(cells: Cell[], rounds: number): Promise<Times[]> {
  const times = cells.map((cell): Times => new Map(cell.arms.map(({ name }) => [name, []])));
  for (let round = -WARM_ROUNDS; round < rounds; round++) {
    for (const [index, cell] of cells.entries()) {
      for (const arm of cell.arms) {
        const us = await runBatch(arm, cell);
        if (round >= 0) times[index]?.get(arm.name)?.push(us);
      }
    }
  }
  return times;
}
