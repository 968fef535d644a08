// SPDX-License-Identifier: Apache-2.0
// The bench of costs measures what it says: shapes, orders and host calls; never a wall clock.
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { buildFilter } from "../../../cli/build.ts";
import { benchAdmission } from "../../../lab/bench/admission-cost.ts";
import { callbackTimes } from "../../../lab/bench/callback-times.ts";
import { benchCost, type CostReport } from "../../../lab/bench/cost.ts";
import { printCost } from "../../../lab/bench/cost-text.ts";
import { benchFlatness } from "../../../lab/bench/host-flatness.ts";
import { benchReader } from "../../../lab/bench/reader-speed.ts";
import { fitLine, spreadOf } from "../../../lab/bench/statistics.ts";

const SIZES = [2_000, 1_000_000];
const PROXIES = ["envoy", "envoy-empty-wasm", "envoy-copy-wasm", "smetric"];

describe("bench:cost on real Envoys, small", () => {
  let report: CostReport;
  const lines: string[] = [];

  before(async () => {
    const progress = (line: string): void => void lines.push(line);
    report = await benchCost({ sizes: SIZES, rounds: 3, copies: 2, progress });
  });

  after(() => {
    assert.ok(lines.length >= 2, "it tells how far it is");
  });

  it("has a row for every proxy, size and kind of answer", () => {
    assert.equal(report.rows.length, PROXIES.length * SIZES.length * 2);
    for (const streaming of [false, true]) {
      for (const wanted of SIZES) {
        const rows = report.rows.filter((row) => {
          const near = row.body_bytes >= wanted && row.body_bytes < wanted * 1.1;
          return row.streaming === streaming && near;
        });
        assert.deepEqual(
          rows.map(({ proxy }) => proxy),
          PROXIES,
        );
      }
    }
  });

  it("relates every row to Envoy without a filter", () => {
    for (const row of report.rows) {
      const base = report.rows.find(
        ({ proxy, body_bytes, streaming }) =>
          proxy === "envoy" && body_bytes === row.body_bytes && streaming === row.streaming,
      );
      assert.ok(base !== undefined && base.cpu_us_per_request > 0);
      const ratio = row.cpu_us_per_request / base.cpu_us_per_request;
      assert.ok(Math.abs(ratio - row.ratio_to_envoy) < 0.001);
      assert.ok(ratio > 0.05 && ratio < 50, `${row.proxy} ${ratio}`);
      assert.ok(row.spread_us[0] <= row.cpu_us_per_request);
      assert.ok(row.spread_us[1] >= row.cpu_us_per_request);
    }
  });

  it("tells a filter that is alone from one of a row", () => {
    for (const { alone_us, further_us } of Object.values(report.follow_up)) {
      assert.ok(Number.isFinite(alone_us) && Number.isFinite(further_us));
    }
  });

  it("times the callbacks of a filter that is alone", () => {
    for (const us of Object.values(report.callbacks_us)) assert.ok(us > 0);
  });

  it("fits finite numbers", () => {
    for (const value of Object.values(report.fit)) assert.ok(Number.isFinite(value));
  });
});

describe("What a follow-up costs in the virtual Envoy", () => {
  it("is the same number of host calls with many streams, sessions and turns", async () => {
    const counts = { open: [1, 400], sessions: [1, 100_000], turns: [3, 60], endpoints: [4] };
    const rows = benchFlatness(await buildFilter(), counts);
    assert.equal(rows.length, 7);
    const fewest = Math.min(...rows.map((row) => row.host_calls));
    for (const { what, count, host_calls } of rows) {
      assert.ok(host_calls <= fewest + 6, `${what} ${count}: ${host_calls} calls, not ${fewest}`);
      assert.ok(host_calls <= 30, `${what} ${count}: ${host_calls} calls`);
    }
  });
});

describe("The yardsticks of the bench", () => {
  it("puts a line through points by the weight of their errors", () => {
    const exact = [1, 2, 3].map((x) => ({ x, y: 5 + 2 * x, error: 1 }));
    const line = fitLine([...exact, { x: 4, y: 1_000, error: 1_000_000 }]);
    assert.ok(Math.abs(line.slope - 2) < 1e-3 && Math.abs(line.offset - 5) < 1e-2);
    assert.deepEqual(spreadOf([5, 1, 3, 2, 4]), { lowest: 1, quartile: 2, median: 3 });
  });

  it("measures admission beside the filter without it", async () => {
    const { us_per_request, spread_us } = await benchAdmission({ rounds: 2, copies: 2 });
    for (const us of [us_per_request, ...spread_us]) assert.ok(Number.isFinite(us));
  });

  it("reads every dialect and the hardest texts", async () => {
    const speeds = await benchReader({ bytes: 100_000, rounds: 3 });
    assert.equal(speeds.length, 7);
    for (const row of speeds) assert.ok(row.gb_per_s > 0 && row.body_bytes >= 60_000, row.body);
    const fit = { fixed_us: 1, us_per_mib: 2, scan_gb_per_s: 3 };
    const admission = { us_per_request: 6, spread_us: [5, 7] as [number, number] };
    const callbacks_us = callbackTimes(" callbacks 4100 900 800 700 600");
    const follow_up = {
      smetric: { alone_us: 33.5, further_us: 18 },
      calls: { alone_us: 17, further_us: 7.5 },
    };
    const calls = { follow_up, row_calls_us: 3, callbacks_us };
    const empty = { rows: [], fit, steps: [], worst_extra_us: 4, us_per_sse_chunk: 5, ...calls };
    assert.match(
      printCost(empty, admission, [], speeds),
      /6 us a request \(lowest - median 5 - 7\)/,
    );
    assert.match(printCost(empty, admission, [], speeds), /escape-dense code/);
    assert.match(printCost(empty, admission, [], speeds), /request headers +│ +4\.1/);
    assert.match(printCost(empty, admission, [], speeds), /smetric +│ +33\.5 +│ +18/);
  });
});
