// SPDX-License-Identifier: Apache-2.0
// What it costs to choose an endpoint: the pure code of the default policy, and what the host is asked for a whole request.
import { readFile } from "node:fs/promises";
import { buildFilter, buildPick } from "../../cli/build.ts";
import { benchFlatness } from "./host-flatness.ts";

/** One row of the bench. */
export interface PickRow {
  endpoints: number;
  request: "first_turn" | "follow_up";
  /** Nanoseconds of one pick: the best of many short batches, because other load only ever makes one slower. */
  pick_ns: number;
  /** Calls into the host of a whole follow-up, reading the loads included; they are not part of `pick_ns`. */
  host_calls: number;
}

interface PickModule {
  prepare(endpoints: number, followUp: number): void;
  pick(count: number): number;
}

const ENDPOINTS = [8, 64];
const BATCHES = 200;
/** A batch of about a millisecond fits between two interruptions. */
const PICKS = 500;

async function loadModule(): Promise<PickModule> {
  const { instance } = await WebAssembly.instantiate(await readFile(await buildPick()), {
    env: {
      abort: () => {
        throw new Error("the pick aborted");
      },
    },
  });
  return instance.exports as unknown as PickModule;
}

function bestNs(module: PickModule, batches: number): number {
  let best = Infinity;
  for (let batch = 0; batch < batches; batch++) {
    const startedAt = performance.now();
    module.pick(PICKS);
    best = Math.min(best, ((performance.now() - startedAt) * 1e6) / PICKS);
  }
  return Math.round(best);
}

/** @param batches how often each pick is measured */
export async function benchPick(batches = BATCHES): Promise<PickRow[]> {
  const module = await loadModule();
  const wasm = await buildFilter();
  const flat = benchFlatness(wasm, { open: [], sessions: [], turns: [], endpoints: ENDPOINTS });
  return ENDPOINTS.flatMap((endpoints, index) =>
    (["first_turn", "follow_up"] as const).map((request) => {
      module.prepare(endpoints, request === "follow_up" ? 1 : 0);
      const pick_ns = bestNs(module, batches);
      return { endpoints, request, pick_ns, host_calls: flat[index]!.host_calls };
    }),
  );
}
