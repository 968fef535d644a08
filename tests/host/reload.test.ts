// SPDX-License-Identifier: Apache-2.0
// A trapped VM, an update, a draining listener: other workers do not notice, and the books are right again soon.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Stream, VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import {
  assertQuiet,
  CHAT_PATH,
  Conversation,
  converse,
  openGauges,
  startGateway,
  TARGETS,
} from "./harness.ts";

const EVENT = "data: {}\n\n";

/** FAIL_RELOAD waits this long after the last load. */
const BACKOFF_MS = 1100;

/** What a trapped VM leaked must be repaired within this time. */
const REPAIR_MS = 15_000;

function stream(envoy: VirtualEnvoy, conversation: Conversation, worker: number): Stream {
  const opened = envoy.send({
    path: CHAT_PATH,
    body: conversation.body(),
    worker,
    response: false,
  });
  opened.respondHeaders(200, { "content-type": "text/event-stream" });
  opened.respondChunk(EVENT);
  return opened;
}

for (const target of TARGETS) {
  describe(`Reloads of the ${target} module`, () => {
    it("cuts only the worker that trapped, keeps affinity and repairs the gauges", async () => {
      const envoy = await startGateway({ target, workers: 2, trace: false });
      const conversation = new Conversation("a");
      const home = converse(envoy, conversation, { worker: 0 }).endpoint;
      envoy.tick(BACKOFF_MS);
      const doomed = [1, 2, 3].map((index) => stream(envoy, new Conversation(`d${index}`), 0));
      const safe = stream(envoy, new Conversation("safe"), 1);
      envoy.crash(0);
      for (const one of doomed) one.respondChunk(EVENT);
      assert.deepEqual(
        doomed.map((one) => one.ending),
        ["reset", "reset", "reset"],
      );
      assert.equal(safe.ending, "open");
      const followUp = converse(envoy, conversation.next(1), { worker: 0 });
      assert.equal(followUp.status, 200);
      assert.equal(followUp.endpoint, home);
      assert.equal(followUp.upstreamHeaders?.["x-smetric-decision"], "home");
      safe.respondChunk(EVENT);
      safe.respondEnd();
      assert.equal(safe.ending, "completed");
      envoy.tick(REPAIR_MS);
      assert.deepEqual(openGauges(envoy), {});
    });

    it("repairs the gauges of a worker that never comes back to life", async () => {
      const options = { workers: 2, trace: false, failurePolicy: "fail_closed" as const };
      const envoy = await startGateway({ target, ...options });
      converse(envoy, new Conversation("other"), { worker: 1 });
      const doomed = stream(envoy, new Conversation("d"), 0);
      envoy.crash(0);
      doomed.respondChunk(EVENT);
      assert.equal(doomed.ending, "reset");
      envoy.tick(REPAIR_MS);
      assert.deepEqual(openGauges(envoy), {});
    });

    it("finishes open streams across an update and keeps counting them", async () => {
      const envoy = await startGateway({ target, workers: 2, trace: false });
      const open = [0, 1].map((worker) => stream(envoy, new Conversation(`s${worker}`), worker));
      assert.equal(envoy.update({ expose_decision: true }), true);
      const later = stream(envoy, new Conversation("later"), 0);
      for (const one of [...open, later]) {
        one.respondEnd();
        assert.equal(one.ending, "completed");
      }
      assertQuiet(envoy);
    });

    it("updates many times without growing what is shared", async () => {
      const envoy = await startGateway({ target, workers: 2, trace: false });
      converse(envoy, new Conversation("a"));
      const { keys } = envoy.sharedData.usage("smetric");
      for (let round = 0; round < 10; round++) {
        assert.equal(envoy.update({ expose_decision: round % 2 === 0 }), true);
        envoy.tick(1000);
      }
      assert.ok(envoy.sharedData.usage("smetric").keys <= keys + 4);
    });
  });
}
