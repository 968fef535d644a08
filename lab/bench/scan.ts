// SPDX-License-Identifier: Apache-2.0
// Measures how fast the request reader goes through agent-shaped bodies, alone, in this process.
import { agentBody, type Encoding } from "./agent-body.ts";
import { ReaderModule } from "./reader-module.ts";

/** Time for one size; the best batch counts, because other load only ever makes a batch slower. */
const MEASURE_MS = 700;
const BATCH_BYTES = 2_000_000;

const CASES: { name: string; bytes: number; encoding: Encoding }[] = [
  { name: "code", bytes: 2_000, encoding: "code" },
  { name: "code", bytes: 16_000, encoding: "code" },
  { name: "code", bytes: 100_000, encoding: "code" },
  { name: "code", bytes: 220_000, encoding: "code" },
  { name: "code", bytes: 1_000_000, encoding: "code" },
  { name: "code", bytes: 6_000_000, encoding: "code" },
  { name: "korean", bytes: 1_000_000, encoding: "korean" },
  { name: "korean as \\u", bytes: 1_000_000, encoding: "korean_escaped" },
  { name: "all \\u", bytes: 300_000, encoding: "all_escaped" },
];

export interface ScanRow {
  name: string;
  body_bytes: number;
  us: number;
  gb_per_s: number;
  /** Time of a pass that only finds quotes and escapes, over the time of the reader: the same on every machine. */
  mask_ratio: number;
}

function bestUs(bytes: number, run: () => void): number {
  const repeats = Math.max(1, Math.ceil(BATCH_BYTES / bytes));
  let best = Infinity;
  const until = performance.now() + MEASURE_MS;
  while (performance.now() < until) {
    const start = process.hrtime.bigint();
    for (let i = 0; i < repeats; i++) run();
    best = Math.min(best, Number(process.hrtime.bigint() - start) / repeats / 1_000);
  }
  return best;
}

export async function benchScan(): Promise<ScanRow[]> {
  const reader = await ReaderModule.load();
  return CASES.map(({ name, bytes, encoding }) => {
    const body = agentBody(bytes, encoding);
    const us = bestUs(body.length, () => reader.readOnly(body));
    const maskUs = bestUs(body.length, () => reader.maskPass(body));
    return {
      name,
      body_bytes: body.length,
      us: Number(us.toFixed(2)),
      gb_per_s: Number((body.length / us / 1_000).toFixed(2)),
      mask_ratio: Number((maskUs / us).toFixed(3)),
    };
  });
}
