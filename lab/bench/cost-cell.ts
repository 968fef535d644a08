// SPDX-License-Identifier: Apache-2.0
// One cell of the comparison: the same sessions through several Envoys, in short batches, turn and turn about.
import type { RunningEnvoy } from "../../envoy/launcher.ts";
import { cpuTimeUs } from "./cpu-time.ts";
import type { SessionBodies } from "./session-bodies.ts";
import type { SendOptions, WireClient } from "./wire-client.ts";

/** One Envoy and the connection to it. */
export interface Arm {
  name: string;
  envoy: RunningEnvoy;
  client: WireClient;
}

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
/** Rounds before the first that counts: V8 compiles what is hot once more. */
const WARM_ROUNDS = 3;

let named = 0;

/** Follow-ups of fresh sessions; the first request of each is sent before the clock starts. */
async function runBatch(arm: Arm, cell: Cell): Promise<number> {
  const { bodies, streaming } = cell;
  const names = Array.from({ length: cell.sessions }, () => `session-${++named}`);
  const queue: { body: Buffer; options: SendOptions }[] = [];
  for (const name of names) {
    if (cell.cold) {
      const options = { streaming, headers: `x-agent-session: ${name}\r\n` };
      queue.push({ body: bodies.body(name, COLD_STEPS), options });
      continue;
    }
    await arm.client.send(bodies.body(name, 0), { streaming });
    for (let step = 1; step <= cell.steps; step++) {
      queue.push({ body: bodies.body(name, step), options: { streaming } });
    }
  }
  const before = cpuTimeUs(arm.envoy.pid);
  for (const { body, options } of queue) await arm.client.send(body, options);
  return (cpuTimeUs(arm.envoy.pid) - before) / queue.length;
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
