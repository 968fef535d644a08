// SPDX-License-Identifier: Apache-2.0
// What memory costs at a given size: bytes a session, a bound that holds, and live sessions that no flood pushes out.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoy } from "../../../lab/virtual-envoy/index.ts";
import { assertNoTrap, CHAT_PATH, Conversation, startGateway } from "../harness.ts";

const VM_ID = "sized";

/** Bytes that the tables may take for each session they are sized for, when every bucket is full. */
const MOST_BYTES_PER_SESSION = 1_400;

/** A full table has seen this many times the sessions that it is sized for. */
const FILLS = 30;

/** Options of a gateway that keeps no books of its own, so that only the filter's memory grows. */
export const QUIET = { trace: false, keepBodies: false, vmId: VM_ID };

export function print(text: string): void {
  process.stdout.write(`    ${text}\n`);
}

function bytesUsed(envoy: VirtualEnvoy): number {
  return envoy.sharedData.usage(VM_ID).bytes;
}

/** Sends a conversation as it stands to the first worker. */
export function converseBriefly(envoy: VirtualEnvoy, session: Conversation, headers = {}): void {
  envoy.request({ path: CHAT_PATH, body: session.body(), headers, worker: 0 });
}

function isRemembered(envoy: VirtualEnvoy, session: Conversation, turn: number): boolean {
  const body = session.body();
  const seen = envoy.request({ path: CHAT_PATH, body, worker: 0 });
  return seen.upstreamHeaders?.["x-smetric-verified-turn"] === String(turn);
}

/** Two turns of each session from one number up to another. */
function serveSessions(envoy: VirtualEnvoy, from: number, to: number): void {
  for (let index = from; index < to; index++) {
    const session = new Conversation(`s${index}`);
    converseBriefly(envoy, session);
    converseBriefly(envoy, session.next(1));
    if (index % 100 === 0) envoy.tick(20);
  }
}

/** Of some sessions out of all, how many go on where they were. */
function shareRemembered(envoy: VirtualEnvoy, sessions: number): number {
  const step = Math.max(1, Math.floor(sessions / 200));
  let asked = 0;
  let known = 0;
  for (let index = 0; index < sessions; index += step) {
    asked++;
    if (isRemembered(envoy, new Conversation(`s${index}`).next(1).next(2), 3)) known++;
  }
  return known / asked;
}

/** Tables sized for `sessions` remember them all, at a few hundred bytes each. */
export function testRemembered(sessions: number): void {
  it(`holds ${sessions} sessions of two turns at a few hundred bytes each`, async () => {
    const envoy = await startGateway({ ...QUIET, configuration: { affinity_sessions: sessions } });
    serveSessions(envoy, 0, sessions);
    const each = bytesUsed(envoy) / sessions;
    const known = shareRemembered(envoy, sessions);
    print(
      `${each.toFixed(0)} bytes a session at ${sessions} sessions, ${(known * 100).toFixed(1)} % remembered`,
    );
    assert.ok(each < 400, `${each} bytes a session`);
    assert.ok(known >= 0.99, `${known} of them are remembered`);
    assertNoTrap(envoy);
  });
}

/** Tables that are far too small for the sessions that come stop growing. */
function testBounded(sessions: number): void {
  const sizedFor = Math.floor(sessions / FILLS);
  it(`stops growing: ${sessions} sessions through tables for ${sizedFor}`, async () => {
    const envoy = await startGateway({ ...QUIET, configuration: { affinity_sessions: sizedFor } });
    serveSessions(envoy, 0, sessions / 2);
    const half = bytesUsed(envoy);
    serveSessions(envoy, sessions / 2, sessions);
    const all = bytesUsed(envoy);
    print(`full tables: ${(all / sizedFor).toFixed(0)} bytes for each session they are sized for`);
    assert.ok(all < half * 1.05, `${half} bytes at half, ${all} at the end`);
    assert.ok(all < sizedFor * MOST_BYTES_PER_SESSION);
    assertNoTrap(envoy);
  });
}

/** Conversations of one call pass by while `live` sessions go on. */
export function testSingleUse(singles: number, live: number): void {
  it(`belongs to ${live} live sessions: ${singles} conversations of one call push none out`, async () => {
    const envoy = await startGateway({ ...QUIET, configuration: { affinity_sessions: live } });
    const sessions = Array.from({ length: live }, (_, index) => new Conversation(`live ${index}`));
    for (const session of sessions) converseBriefly(envoy, session);
    for (const session of sessions) converseBriefly(envoy, session.next(1));
    for (let index = 0; index < singles; index++) {
      const headers = { "x-agent-session": `single ${index}` };
      converseBriefly(envoy, new Conversation(`single ${index}`), headers);
      if (index % 100 === 0) envoy.tick(20);
    }
    const home = sessions.filter((session) => isRemembered(envoy, session.next(2), 3)).length;
    assert.equal(home, live);
    assertNoTrap(envoy);
  });
}

/** All of it for one size. */
export function describeMemory(sessions: number): void {
  describe(`The memory that affinity takes, ${sessions} sessions`, () => {
    testRemembered(sessions);
    testBounded(sessions);
  });
}
