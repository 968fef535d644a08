// SPDX-License-Identifier: Apache-2.0
// What memory costs: bytes per session and in all, who is pushed out by a flood, look-ups of one request.
// SMETRIC_TEST_SESSIONS=1000000 SMETRIC_TEST_SINGLES=1000000 runs the full sizes.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import { assertNoTrap, CHAT_PATH, Conversation, startGateway } from "./harness.ts";

const SESSIONS = Number(process.env["SMETRIC_TEST_SESSIONS"] ?? 6_000);
const SINGLES = Number(process.env["SMETRIC_TEST_SINGLES"] ?? 10_000);

/** Live sessions that a flood must not touch: what the tables are sized for. */
const LIVE = 1_000;
/** Tables of this size are full when all sessions have been served. */
const SIZED_FOR = 200;

const VM_ID = "sized";
const QUIET = { trace: false, keepBodies: false, vmId: VM_ID };

function print(text: string): void {
  process.stdout.write(`    ${text}\n`);
}

function bytesUsed(envoy: VirtualEnvoy): number {
  return envoy.sharedData.usage(VM_ID).bytes;
}

function converseBriefly(envoy: VirtualEnvoy, session: Conversation, headers = {}): void {
  envoy.request({ path: CHAT_PATH, body: session.body(), headers, worker: 0 });
}

/** Reads and writes of shared data by one request. */
function lookUps(envoy: VirtualEnvoy, session: Conversation): { reads: number; writes: number } {
  const count = (name: string): number => envoy.hostCalls.get(name) ?? 0;
  const reads = count("proxy_get_shared_data");
  const writes = count("proxy_set_shared_data");
  converseBriefly(envoy, session);
  return {
    reads: count("proxy_get_shared_data") - reads,
    writes: count("proxy_set_shared_data") - writes,
  };
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!;
}

describe("The memory that affinity takes", () => {
  it(`is a few hundred bytes a session and bounded: ${SESSIONS} sessions`, async () => {
    const configuration = { affinity_sessions: SIZED_FOR };
    const envoy = await startGateway({ ...QUIET, configuration });
    let half = 0;
    for (let index = 0; index < SESSIONS; index++) {
      const session = new Conversation(`s${index}`);
      converseBriefly(envoy, session);
      converseBriefly(envoy, session.next(1));
      if (index + 1 === SIZED_FOR) {
        const each = bytesUsed(envoy) / SIZED_FOR;
        print(`${each.toFixed(0)} bytes a session at ${SIZED_FOR} sessions of two turns`);
        assert.ok(each < 400, `${each} bytes a session`);
      }
      if (index + 1 === SESSIONS / 2) half = bytesUsed(envoy);
      if (index % 100 === 0) envoy.tick(20);
    }
    const all = bytesUsed(envoy);
    print(`${(all / SESSIONS).toFixed(0)} bytes a session at ${SESSIONS} sessions`);
    assert.ok(all < half * 1.2, `${half} bytes at half, ${all} at the end`);
    assert.ok(all < SIZED_FOR * 1_400);
    assertNoTrap(envoy);
  });

  it(`belongs to live sessions: ${SINGLES} conversations of one call push none out`, async () => {
    const configuration = { affinity_sessions: LIVE };
    const envoy = await startGateway({ ...QUIET, configuration });
    const live = Array.from({ length: LIVE }, (_, index) => new Conversation(`live ${index}`));
    for (const session of live) converseBriefly(envoy, session);
    for (const session of live) converseBriefly(envoy, session.next(1));
    for (let index = 0; index < SINGLES; index++) {
      const headers = { "x-agent-session": `single ${index}` };
      converseBriefly(envoy, new Conversation(`single ${index}`), headers);
      if (index % 100 === 0) envoy.tick(20);
    }
    let home = 0;
    for (const session of live) {
      const body = session.next(2).body();
      const seen = envoy.request({ path: CHAT_PATH, body, worker: 0 });
      if (seen.upstreamHeaders?.["x-smetric-verified-turn"] === "3") home++;
    }
    assert.equal(home, LIVE);
    assertNoTrap(envoy);
  });
});

describe("The look-ups of a request", () => {
  it("are nine or fewer for the median follow-up, and bounded for the worst", async () => {
    const envoy = await startGateway({ ...QUIET, countHostCalls: true });
    const session = new Conversation("long");
    const reads: number[] = [];
    const writes: number[] = [];
    converseBriefly(envoy, session);
    for (let turn = 1; turn <= 60; turn++) {
      const used = lookUps(envoy, session.next(turn));
      reads.push(used.reads);
      writes.push(used.writes);
      envoy.tick(25);
    }
    print(`median follow-up: ${median(reads)} reads, ${median(writes)} writes`);
    assert.ok(median(reads) <= 9, `${median(reads)} reads`);
    const cold = new Conversation("never seen");
    for (let turn = 1; turn <= 400; turn++) cold.next(turn);
    const worst = lookUps(envoy, cold);
    print(`cold request of 401 turns: ${worst.reads} reads, ${worst.writes} writes`);
    // Beside affinity's own (17 and 8): the fleet, what its model taught, and the shares of the gauges.
    assert.ok(worst.reads <= 17 + 4, `${worst.reads} reads`);
    assert.ok(worst.writes <= 8 + 6, `${worst.writes} writes`);
  });
});
