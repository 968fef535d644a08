// SPDX-License-Identifier: Apache-2.0
// The path of docs/ten-minutes.md on what the control planes render: watch, ask what it would save, route, explain.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { buildFilter } from "../../cli/build.ts";
import { startEnvoy } from "../../envoy/launcher.ts";
import { runToEnd, serveMockGpus } from "./harness/command.ts";
import { locate } from "./harness/rendered.ts";
import { until } from "./harness/fleet.ts";

/** Mock GPUs and agents share one time scale. */
const SPEEDUP = 60;
const AT_SPEED = ["--speedup", String(SPEEDUP)];

interface LogRecord {
  time_ms: number;
  duration_ms: number | null;
  ttft_ms: number | null;
  turn: number;
  decision: string;
  session_key: string;
  endpoint: string;
}

/** What `grep '^{"time_ms"'` leaves of an access log. */
function recordsIn(log: string): string[] {
  return log.split("\n").filter((line) => line.startsWith('{"time_ms"'));
}

/** The record with the times that a clock of the mock GPUs would have told. */
function slowed(record: LogRecord): LogRecord {
  const stretched = (ms: number | null): number | null => (ms === null ? null : ms * SPEEDUP);
  return {
    ...record,
    time_ms: record.time_ms * SPEEDUP,
    duration_ms: stretched(record.duration_ms),
    ttft_ms: stretched(record.ttft_ms),
  };
}

/** Agents run against the rendered chain; answers its access log. */
async function logOf(t: TestContext, name: string, endpoints: string[]): Promise<LogRecord[]> {
  const envoy = await startEnvoy({
    bootstrap: locate(`rendered/${name}`),
    endpoints,
    wasm: await buildFilter(),
  });
  t.after(() => envoy.stop());
  await runToEnd(["replay", "--url", envoy.url, ...AT_SPEED]);
  const stats = async (): Promise<number> =>
    (await envoy.stats("^wasmcustom\\.smetric_streams\\.outcome\\.conversation$"))[
      "wasmcustom.smetric_streams.outcome.conversation"
    ] ?? 0;
  const expected = await stats();
  await until("the log is written", () => recordsIn(envoy.log()).length >= expected);
  return recordsIn(envoy.log()).map((line) => JSON.parse(line) as LogRecord);
}

for (const platform of ["istio", "envoy-gateway"]) {
  test(`${platform}: watch, ask what it would save, route, and explain a decision`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "smetric-ten-minutes-"));
    t.after(() => rmSync(folder, { recursive: true }));
    const endpoints = await serveMockGpus(t, 4, AT_SPEED);

    const watched = await logOf(t, `${platform}-observe`, endpoints);
    const file = join(folder, "access.log");
    writeFileSync(file, watched.map((record) => JSON.stringify(slowed(record))).join("\n"));
    const answer = await runToEnd(["what-if", file, "--loads", "1", "--seeds", "1"]);
    assert.match(answer, /hit rate/);

    const routed = await logOf(t, `${platform}-route`, endpoints);
    const home = routed.find((record) => record.decision === "home");
    assert.ok(home, "no follow-up went home");
    const before = routed.find(
      (record) => record.session_key === home.session_key && record.turn === home.turn - 1,
    );
    assert.equal(before?.endpoint, home.endpoint);
  });
}
