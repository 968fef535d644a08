// SPDX-License-Identifier: Apache-2.0
// Logs for tests: records of made-up sessions, and of replays that the filter observes.
import { buildFilter } from "../../../cli/build.ts";
import type { FleetPlan, ReplayPlan, Watcher } from "../../../lab/replay/drivers/driver.ts";
import { VirtualDriver } from "../../../lab/replay/drivers/virtual/virtual-driver.ts";
import { type Measures, measure } from "../../../lab/replay/measures/measures.ts";

export const WATCHER: Watcher = { tick() {}, ended() {}, sessionFinished() {} };

/** Four engines of a known kind. */
export const FLEET: FleetPlan = {
  ...{ endpoints: 4, decodeEndpoints: 0, preset: "30b-a3b-h20", kvTokens: 700_000 },
  ...{ blockTokens: 64, globalTokens: 0, globalGbps: 0 },
};

/** Virtual time; where the filter observes, its records come as well. */
export async function playVirtually(
  arm: string,
  plan: ReplayPlan,
  recorded?: (record: string) => void,
): Promise<Measures> {
  const wasm = await buildFilter();
  const setting = { bytesPerToken: 0.5, workers: 2, gateways: 1 };
  const driver = new VirtualDriver({ wasm, ...setting, recorded });
  return measure(await driver.run(arm, plan, WATCHER, new AbortController().signal));
}

export interface MadeUp {
  sessions: number;
  turns: number;
  /** Endpoint of a turn; null where the log names none. */
  place: (session: number, turn: number) => string | null;
  /** Cached tokens that the answer reports. */
  cached?: (session: number, turn: number) => number | null;
}

const TURN_TOKENS = 1_000;
const BETWEEN_MS = 10_000;

/** Sessions side by side, a turn of each every ten seconds, as the filter records them. */
export function madeUpRecords({ sessions, turns, place, cached }: MadeUp): object[] {
  const records: object[] = [];
  for (let turn = 1; turn <= turns; turn++) {
    for (let session = 0; session < sessions; session++) {
      records.push({
        time_ms: turn * BETWEEN_MS + session * 10 + 500,
        ...{ duration_ms: 500, ttft_ms: 100, outcome: "conversation", turn },
        ...{ prompt_tokens: turn * TURN_TOKENS, output_tokens: 50, head: "h", head_tokens: 100 },
        cached_tokens: cached?.(session, turn) ?? null,
        endpoint: place(session, turn),
        boundaries: Array.from({ length: turn }, (_, runs) => ({
          ...{ hash: `${session}.${runs}`, runs, tokens: (runs + 1) * (TURN_TOKENS - 100) },
        })),
      });
    }
  }
  return records;
}

/** As a log file holds them. */
export function linesOf(records: readonly object[]): string {
  return records.map((record) => `${JSON.stringify(record)}\n`).join("");
}
