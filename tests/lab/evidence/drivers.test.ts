// SPDX-License-Identifier: Apache-2.0
// Whether two drivers put arms in the same order: on made-up measures, and on one driver in both roles.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { buildFilter } from "../../../cli/build.ts";
import {
  AGREEMENT_ARMS,
  agreementOf,
  agreementText,
  type PlayedTwice,
  playTwice,
} from "../../../lab/evidence/drivers/agreement.ts";
import { demoPlan } from "../../../lab/replay/demo.ts";
import { VirtualDriver } from "../../../lab/replay/drivers/virtual/virtual-driver.ts";
import type { Measures } from "../../../lab/replay/measures/measures.ts";

function measuresOf(tps_slo: number): Measures {
  const spread = { mean: 1, p50: 1, p90: 1, p95: 1, p99: 1 };
  return {
    tps: 400,
    tps_slo,
    hit_rate: 0.9,
    ttft_ms: spread,
    jct_s: spread,
  } as unknown as Measures;
}

function played(goodputs: [virtual: number, envoy: number][]): PlayedTwice[] {
  return goodputs.map(([virtual, envoy], index) => ({
    arm: `arm ${index}`,
    virtual: measuresOf(virtual),
    envoy: measuresOf(envoy),
  }));
}

describe("the agreement of two drivers", () => {
  it("counts the pairs of arms that one of them tells apart", () => {
    const same = agreementOf(
      played([
        [300, 290],
        [200, 210],
        [100, 90],
      ]),
    );
    assert.deepEqual(same, { pairs: 3, agreeing: 3, rank_correlation: 1 });
    const swapped = agreementOf(
      played([
        [300, 210],
        [200, 290],
        [100, 90],
      ]),
    );
    assert.deepEqual(swapped, { pairs: 3, agreeing: 2, rank_correlation: 0.5 });
  });

  it("asks for no order where two arms are alike", () => {
    const { pairs, agreeing } = agreementOf(
      played([
        [300, 200],
        [299, 201],
        [100, 90],
      ]),
    );
    assert.deepEqual([pairs, agreeing], [2, 2]);
  });

  it("plays every arm with both, and says what came out", async () => {
    const wasm = await buildFilter();
    const driver = new VirtualDriver({ wasm, bytesPerToken: 0.5, workers: 2, gateways: 1 });
    const plan = demoPlan({ endpoints: 2, sessions: 8, seed: 1 });
    const said: string[] = [];
    const { signal } = new AbortController();
    const both = await playTwice(plan, driver, driver, (line) => said.push(line), signal);
    assert.deepEqual(
      both.map(({ arm }) => arm),
      AGREEMENT_ARMS,
    );
    assert.equal(said.length, 2 * AGREEMENT_ARMS.length);
    for (const { virtual, envoy } of both) assert.deepEqual(virtual, envoy);
    const { pairs, agreeing } = agreementOf(both);
    assert.equal(agreeing, pairs);
    assert.match(agreementText(both), /\| priced \| [\d.]+ \|/);
  });
});
