// SPDX-License-Identifier: Apache-2.0
// Affinity under many sessions: bounded memory, and single-use conversations that do not push out live ones.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import { CHAT_PATH, Conversation, converse, startGateway } from "./harness.ts";

const SINGLE_USE = 6_000;

/** The table's capacity: far less than the conversations that pass through it. */
const SESSIONS = 1_000;

const LIVE = Math.floor(SESSIONS / 10);

/** Conversations between two turns of all live sessions. */
const BATCH = 20;

function passBy(envoy: VirtualEnvoy, index: number): void {
  envoy.request({ path: CHAT_PATH, body: new Conversation(`single ${index}`).body() });
}

describe("Affinity at scale", () => {
  it(`keeps ${LIVE} live sessions while ${SINGLE_USE} single-use conversations pass`, async (test) => {
    const configuration = { affinity_sessions: SESSIONS, policy: "sticky" };
    const envoy = await startGateway({ configuration, trace: false, keepBodies: false });
    const live = Array.from({ length: LIVE }, (_, index) => new Conversation(`live ${index}`));
    const homes = live.map((session) => converse(envoy, session).endpoint);
    live.forEach((session, index) => {
      assert.equal(converse(envoy, session.next(1)).endpoint, homes[index]);
    });
    let passed = 0;
    let lost = 0;
    for (let turn = 2; passed < SINGLE_USE; turn++) {
      live.forEach((session, index) => {
        for (let single = 0; single < BATCH && passed < SINGLE_USE; single++) {
          passBy(envoy, passed);
          passed += 1;
        }
        const seen = converse(envoy, session.next(turn));
        if (seen.upstreamHeaders?.["x-smetric-decision"] !== "home") lost += 1;
        else assert.equal(seen.endpoint, homes[index]);
      });
    }
    const { bytes, keys } = envoy.sharedData.usage("smetric");
    test.diagnostic(
      `${keys} keys, ${bytes} bytes for ${SESSIONS} sessions, ${lost} follow-ups lost`,
    );
    assert.equal(lost, 0);
  });

  it("stops growing when the table is full", async (test) => {
    const configuration = { affinity_sessions: 256 };
    const envoy = await startGateway({ configuration, trace: false, keepBodies: false });
    const usage: number[] = [];
    for (const target of [1_000, 2_000, 3_000]) {
      for (let index = target - 1_000; index < target; index++) passBy(envoy, index);
      usage.push(envoy.sharedData.usage("smetric").bytes);
    }
    test.diagnostic(`bytes after 1,000, 2,000 and 3,000 conversations: ${usage.join(", ")}`);
    assert.ok(usage[2]! <= usage[1]! * 1.05, "flat when full");
  });
});
