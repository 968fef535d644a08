// SPDX-License-Identifier: Apache-2.0
// What admission adds to a request: CPU time of real Envoys with the filter, admission on and off, in one run.
import { buildFilter } from "../../cli/build.ts";
import { type Arm, type Cell, closeArm, measureCells, openArm } from "./cost-cell.ts";
import { startGateway } from "./gateway.ts";
import { SessionBodies } from "./session-bodies.ts";
import { spreadOf } from "./statistics.ts";
import { WireServer } from "./wire-server.ts";

export interface AdmissionCost {
  /** Over the same filter with admission off, from the lower quartiles of all rounds. */
  us_per_request: number;
  /** From the lowest rounds and from the medians. */
  spread_us: [number, number];
}

export interface AdmissionCostOptions {
  rounds?: number;
  /** Identical filters in a row: what one costs is their difference over their number. */
  copies?: number;
}

const ENDPOINTS = 4;
const ROUNDS = 40;
const COPIES = 8;
/** Small bodies: admission does not look at them, and they would drown it in noise. */
const BODY_BYTES = 2_000;
/** Two on each connection: batches long enough that ticks fall into every one of them. */
const SESSIONS = 32;
const STEPS = 10;

const ARMS: Record<string, object> = {
  off: {},
  on: { admission: { enabled: true } },
};

/**
 * Every endpoint soon has as many sessions as admission remembers, which is the most that it ever has to look at.
 * @throws Failure when an Envoy does not start or does not answer 200
 */
export async function benchAdmission(options: AdmissionCostOptions = {}): Promise<AdmissionCost> {
  const { rounds = ROUNDS, copies = COPIES } = options;
  const wasm = await buildFilter();
  const server = await WireServer.start(ENDPOINTS);
  const arms: Arm[] = [];
  try {
    for (const [name, configuration] of Object.entries(ARMS)) {
      const { endpoints } = server;
      const envoy = await startGateway({ endpoints, wasm, copies, configuration });
      arms.push(await openArm(name, envoy, server));
    }
    const bodies = new SessionBodies(BODY_BYTES, false);
    const cell: Cell = { arms, bodies, streaming: false, sessions: SESSIONS, steps: STEPS };
    const [times] = await measureCells([cell], rounds);
    const [off, on] = ["off", "on"].map((name) => spreadOf(times?.get(name) ?? []));
    const added = (of: "lowest" | "quartile" | "median"): number =>
      Number(((on![of] - off![of]) / copies).toFixed(2));
    return { us_per_request: added("quartile"), spread_us: [added("lowest"), added("median")] };
  } finally {
    for (const arm of arms) await closeArm(arm);
    server.stop();
  }
}
