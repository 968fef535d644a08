// SPDX-License-Identifier: Apache-2.0
// Many streams, after one another and at once: memory stops growing and a request costs what it always did.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoy } from "../../../lab/virtual-envoy/index.ts";
import type { FilterTarget } from "../../../cli/build.ts";
import {
  assertNoTrap,
  assertQuiet,
  CHAT_PATH,
  Conversation,
  endedStreams,
  startGateway,
} from "../harness.ts";

/** Requests of one session, so that tables fill at a known pace. */
const TURNS = 5;

/** One stream of a mixed diet: conversations, broken bodies, other paths, clients that leave. */
function sendMixed(envoy: VirtualEnvoy, index: number): void {
  const conversation = new Conversation(`session ${Math.floor(index / TURNS)}`);
  for (let turn = 1; turn <= index % TURNS; turn++) conversation.next(turn);
  const body = conversation.body();
  const kind = index % 20;
  if (kind === 7) envoy.request({ path: CHAT_PATH, body: body.slice(0, -9) });
  else if (kind === 11) envoy.request({ path: "/v1/models" });
  else if (kind === 13) {
    const stream = envoy.openStream({ path: CHAT_PATH });
    stream.sendChunk(body.slice(0, 40));
    stream.abort();
  } else if (kind === 17) {
    const stream = envoy.send({ path: CHAT_PATH, body, response: false });
    stream.respondHeaders(200);
    stream.respondChunk("data: {}\n\n");
    stream.resetUpstream();
  } else envoy.request({ path: CHAT_PATH, body });
  if (index % 50 === 0) envoy.tick(20);
}

/** Host calls of one follow-up request. */
function callsOfOneRequest(envoy: VirtualEnvoy, conversation: Conversation): number {
  const total = (): number => [...envoy.hostCalls.values()].reduce((sum, count) => sum + count, 0);
  const before = total();
  envoy.request({ path: CHAT_PATH, body: conversation.body(), worker: 0 });
  return total() - before;
}

/** Streams in a row at which tables of 1,000 sessions are full, so that no key is new any more. */
const FULL_AT = 100_000;

/**
 * The proofs for one module.
 * @param streams after one another
 * @param openAtOnce how many are open at the same time
 */
export function describeStreams(target: FilterTarget, streams: number, openAtOnce: number): void {
  describe(`Many streams through the ${target} module`, () => {
    it(`stops growing: ${streams} streams through one instance`, async () => {
      const options = {
        trace: false,
        keepBodies: false,
        configuration: { affinity_sessions: 1000 },
      };
      const envoy = await startGateway({ target, ...options });
      const settled = Math.floor(streams / 2);
      for (let index = 0; index < settled; index++) sendMixed(envoy, index);
      const memory = envoy.memoryBytes[0]!;
      const shared = envoy.sharedData.usage("smetric").keys;
      for (let index = settled; index < streams; index++) sendMixed(envoy, index);
      assert.equal(envoy.memoryBytes[0], memory);
      if (streams >= FULL_AT) assert.equal(envoy.sharedData.usage("smetric").keys, shared);
      assert.equal(endedStreams(envoy), streams);
      assert.equal(envoy.open, 0);
      assertQuiet(envoy);
      assertNoTrap(envoy);
    });

    it(`costs the same with ${openAtOnce} streams open at once`, async () => {
      const options = { trace: false, countHostCalls: true, configuration: { policy: "sticky" } };
      const envoy = await startGateway({ target, ...options });
      const probe = new Conversation("probe");
      envoy.request({ path: CHAT_PATH, body: probe.body(), worker: 0 });
      envoy.tick(100);
      const alone = callsOfOneRequest(envoy, probe.next(1));
      const open = Array.from({ length: openAtOnce }, (_, index) => {
        const body = new Conversation(`s${index}`).body();
        if (index % 2 === 0) return envoy.send({ path: CHAT_PATH, body, response: false });
        const held = envoy.openStream({ path: CHAT_PATH });
        held.sendChunk(body.slice(0, 30));
        return held;
      });
      assert.equal(envoy.open, openAtOnce);
      const crowded = callsOfOneRequest(envoy, probe.next(2));
      assert.ok(crowded <= alone + 2, `${crowded} host calls instead of ${alone}`);
      for (const stream of open) if (!stream.respond()) stream.abort();
      assert.equal(envoy.open, 0);
      assertQuiet(envoy);
      assertNoTrap(envoy);
    });
  });
}
