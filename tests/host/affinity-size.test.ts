// SPDX-License-Identifier: Apache-2.0
// What memory costs at sizes for every day (the full ones are below tests/extra/sizes), and look-ups of one request.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import { Conversation, startGateway } from "./harness.ts";
import { converseBriefly, describeMemory, print, QUIET, testSingleUse } from "./sizes/memory.ts";

/** Reads and writes of shared data by one request. */
function lookUps(
  envoy: VirtualEnvoy,
  session: Conversation,
  headers = {},
): { reads: number; writes: number } {
  const count = (name: string): number => envoy.hostCalls.get(name) ?? 0;
  const reads = count("proxy_get_shared_data");
  const writes = count("proxy_set_shared_data");
  converseBriefly(envoy, session, headers);
  return {
    reads: count("proxy_get_shared_data") - reads,
    writes: count("proxy_set_shared_data") - writes,
  };
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1]!;
}

describeMemory(3_000);

describe("The memory that affinity takes", () => {
  testSingleUse(10_000, 1_000);
});

describe("The look-ups of a request", () => {
  it("are few for the median follow-up", async () => {
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
    assert.ok(median(reads) <= 3, `${median(reads)} reads`);
    assert.ok(median(writes) <= 2, `${median(writes)} writes`);
  });

  it("are 10 and 8 at most for a long conversation that is new here", async () => {
    const envoy = await startGateway({ ...QUIET, countHostCalls: true });
    converseBriefly(envoy, new Conversation("somebody else"));
    for (const headers of [{}, { "x-agent-session": "told" }]) {
      envoy.tick(1_000);
      const cold = new Conversation(`never seen ${JSON.stringify(headers)}`);
      for (let turn = 1; turn <= 400; turn++) cold.next(turn);
      const worst = lookUps(envoy, cold, headers);
      print(`new conversation of 401 turns: ${worst.reads} reads, ${worst.writes} writes`);
      assert.ok(worst.reads <= 10, `${worst.reads} reads`);
      assert.ok(worst.writes <= 8, `${worst.writes} writes`);
    }
  });
});
