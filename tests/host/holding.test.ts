// SPDX-License-Identifier: Apache-2.0
// Holding a request without ever hanging it: cap, watchdog, hosts without the flag, limits that nobody told the filter.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import {
  assertNoTrap,
  assertQuiet,
  CHAT_PATH,
  Conversation,
  converse,
  outcomes,
  startGateway,
  TARGETS,
} from "./harness.ts";

const HOLD_STALL_MS = 1000;
const TICK_MS = 100;
const KIB = 1024;

/** A conversation of about `sizeBytes`, most of it in one old message. */
function longConversation(sizeBytes: number): Conversation {
  return new Conversation("long").answer("Ready.").ask("word ".repeat(sizeBytes / 5));
}

function bodyCallbacks(envoy: VirtualEnvoy, stream: ReturnType<VirtualEnvoy["send"]>): number {
  return envoy
    .observe(stream)
    .callbacks.filter((callback) => callback.name === "proxy_on_request_body").length;
}

for (const target of TARGETS) {
  describe(`Holding in the ${target} module`, () => {
    it("decides when the content length is reached, before the stream is said to end", async () => {
      const envoy = await startGateway({ target });
      const body = Buffer.from(new Conversation("a").body());
      const headers = { "content-length": String(body.length) };
      const stream = envoy.openStream({ path: CHAT_PATH, headers });
      assert.equal(stream.held, true);
      stream.sendChunk(body.subarray(0, 20));
      assert.equal(stream.held, true);
      stream.sendChunk(body.subarray(20));
      assert.equal(stream.held, false);
      assert.equal(stream.upstream?.headers.get("x-smetric-turn"), "1");
      stream.end();
      assert.equal(stream.respond(), true);
      assertQuiet(envoy);
    });

    it("finishes on trailers, where no body callback says that the stream ended", async () => {
      const envoy = await startGateway({ target });
      const body = new Conversation("a").next(1).body();
      const seen = envoy.request({ path: CHAT_PATH, chunks: [body], trailers: { "x-sum": "1" } });
      assert.equal(seen.upstreamHeaders?.["x-smetric-turn"], "2");
      assert.deepEqual(seen.upstreamTrailers, { "x-sum": "1" });
      assert.deepEqual(outcomes(envoy), { conversation: 1 });
    });

    it("lets a stalled client go with the best answer so far, and reads on for the next turn", async () => {
      const envoy = await startGateway({ target });
      const conversation = new Conversation("a").next(1).next(2);
      const body = conversation.body();
      const cut = body.indexOf("Go on with step 3");
      const stream = envoy.openStream({ path: CHAT_PATH });
      stream.sendChunk(body.slice(0, cut));
      envoy.tick(HOLD_STALL_MS - TICK_MS);
      assert.equal(stream.held, true);
      envoy.tick(2 * TICK_MS);
      assert.equal(stream.held, false);
      assert.equal(stream.upstream?.headers.get("x-smetric-turn"), "3");
      stream.sendChunk(body.slice(cut), true);
      stream.respond();
      assert.deepEqual(outcomes(envoy), { stalled: 1 });
      const home = stream.info.endpoint?.address;
      const next = converse(envoy, conversation.next(3));
      assert.equal(next.upstreamHeaders?.["x-smetric-decision"], "home");
      assert.equal(next.endpoint, home);
    });

    it("never lets a stream wait longer than hold_stall_ms after its last byte", async () => {
      const envoy = await startGateway({ target });
      const stream = envoy.openStream({ path: CHAT_PATH });
      for (let round = 0; round < 5; round++) {
        stream.sendChunk(round === 0 ? '{"messages":[' : " ");
        envoy.tick(HOLD_STALL_MS / 2);
        assert.equal(stream.held, true);
      }
      envoy.tick(HOLD_STALL_MS);
      assert.equal(stream.held, false);
    });

    it("releases at hold_cap_bytes and forwards the rest untouched", async () => {
      const configuration = { hold_cap_bytes: 64 * KIB };
      const envoy = await startGateway({ target, configuration });
      const body = Buffer.from(longConversation(500 * KIB).body());
      const stream = envoy.openStream({ path: CHAT_PATH });
      for (let at = 0; at < body.length; at += 16 * KIB) {
        stream.sendChunk(body.subarray(at, at + 16 * KIB));
        assert.equal(stream.held, at + 16 * KIB < 64 * KIB);
      }
      stream.end();
      stream.respond();
      assert.equal(stream.upstream?.bodyBytes, body.length);
      assert.deepEqual(outcomes(envoy), { over_cap: 1 });
    });

    it("learns the limit of a listener that holds less than the filter wants", async () => {
      const configuration = { hold_cap_bytes: 1024 * KIB };
      const limits = { connectionBytes: 32 * KIB };
      const envoy = await startGateway({ target, configuration, limits, workers: 2 });
      const body = longConversation(300 * KIB).body();
      const first = envoy.send({ path: CHAT_PATH, body, worker: 0 });
      assert.equal(first.ended, false);
      assert.ok(first.waitingBytes > 0);
      envoy.tick(HOLD_STALL_MS + 2 * TICK_MS);
      assert.equal(first.waitingBytes, 0);
      assert.equal(first.respond(), true);
      assert.equal(first.upstream?.bodyBytes, body.length);
      assert.equal(envoy.metrics.read("smetric_cap_lowered"), 1);
      envoy.tick(10 * TICK_MS);
      for (const worker of [0, 1]) {
        const later = envoy.send({ path: CHAT_PATH, body, worker });
        assert.equal(later.ending, "completed", "only the first request pays");
      }
      assert.deepEqual(outcomes(envoy), { stalled: 1, over_cap: 2 });
      const said = envoy.logs.filter((line) => /cap|limit/i.test(line.message));
      assert.ok(said.length <= 1, "the lowered cap is logged once");
      assertNoTrap(envoy);
    });

    it("works within the 64 KiB window of an HTTP/2 client", async () => {
      const limits = { http2WindowBytes: 64 * KIB };
      const envoy = await startGateway({ target, limits });
      const body = longConversation(400 * KIB).body();
      const first = envoy.send({ path: CHAT_PATH, body, protocol: "http2" });
      envoy.tick(HOLD_STALL_MS + 2 * TICK_MS);
      if (!first.ended) assert.equal(first.respond(), true);
      const later = envoy.send({ path: CHAT_PATH, body, protocol: "http2" });
      assert.equal(later.ending, "completed");
      assert.equal(later.upstream?.bodyBytes, body.length);
    });

    it("notices a host without the flag, frees the first request and streams from then on", async () => {
      const envoy = await startGateway({ target, flag: false });
      const body = new Conversation("a").body();
      const first = envoy.send({ path: CHAT_PATH, body });
      assert.equal(first.held, true);
      assert.equal(bodyCallbacks(envoy, first), 0);
      envoy.tick(HOLD_STALL_MS + 2 * TICK_MS);
      assert.equal(first.held, false);
      assert.equal(first.respond(), true);
      assert.equal(envoy.metrics.read("smetric_hold_unsupported"), 1);
      const later = envoy.send({ path: CHAT_PATH, body });
      assert.equal(later.ending, "completed");
      assertQuiet(envoy);
    });

    it("counts a client that leaves while its body is held", async () => {
      const envoy = await startGateway({ target });
      const stream = envoy.openStream({ path: CHAT_PATH });
      stream.sendChunk('{"messages":[');
      stream.abort();
      envoy.tick(2 * HOLD_STALL_MS);
      assert.deepEqual(outcomes(envoy), { aborted: 1 });
      const order = envoy.observe(stream).callbacks.slice(-2);
      assert.deepEqual(
        order.map((callback) => callback.name),
        ["proxy_on_log", "proxy_on_delete"],
      );
      assertQuiet(envoy);
    });
  });
}
