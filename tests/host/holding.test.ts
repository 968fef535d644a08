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
  settle,
  startGateway,
  TARGETS,
} from "./harness.ts";

const HOLD_STALL_MS = 1000;
const TICK_MS = 100;
const KIB = 1024;
/** Streams in a row that must say the same before anything is concluded. */
const STRIKES = 3;
/** What was concluded is tried again after this time. */
const RETRY_MS = 240_000;
/** A worker without streams hears of the others that often. */
const CALM_TICK_MS = 1000;
/** The window of the alert SmetricCannotHold. */
const ALERT_MS = 600_000;
/** Bytes that come later than this after a release are a client's own. */
const WAITING_MS = 10;

/** A conversation of about `sizeBytes`, most of it in one old message. */
function longConversation(sizeBytes: number): Conversation {
  return new Conversation("long").answer("Ready.").ask("word ".repeat(sizeBytes / 5));
}

function bodyCallbacks(envoy: VirtualEnvoy, stream: ReturnType<VirtualEnvoy["send"]>): number {
  return envoy
    .observe(stream)
    .callbacks.filter((callback) => callback.name === "proxy_on_request_body").length;
}

const LONG = longConversation(100 * KIB)
  .answer("ok")
  .ask("go");

function pieces(body: string): string[] {
  return body.match(/[^]{1,8192}/g) ?? [];
}

function read(envoy: VirtualEnvoy, name: string): number {
  settle(envoy);
  return envoy.metrics.read(name);
}

/** The turn that is told of a long conversation: what lies behind its first bytes only where all of it was held. */
function turnOf(envoy: VirtualEnvoy, worker = 0): string | undefined {
  const seen = envoy.request({ path: CHAT_PATH, chunks: pieces(LONG.body()), worker });
  return seen.upstreamHeaders?.["x-smetric-turn"];
}

/** As many requests as it takes are longer than this listener's buffers. */
function getStuck(envoy: VirtualEnvoy): void {
  for (let index = 0; index < STRIKES; index++) {
    const stream = envoy.send({ path: CHAT_PATH, body: LONG.body() });
    assert.equal(stream.held, true);
    envoy.tick(HOLD_STALL_MS + TICK_MS);
    assert.equal(stream.respond(), true);
  }
  assert.equal(read(envoy, "smetric_cap_lowered"), 1);
}

/** As many requests as it takes get no body while their headers are held. */
function missBodies(envoy: VirtualEnvoy): void {
  const before = read(envoy, "smetric_hold_unsupported");
  for (let index = 0; index < STRIKES; index++) {
    assert.equal(read(envoy, "smetric_hold_unsupported"), before);
    const worker = index % envoy.workers.length;
    const stream = envoy.send({ path: CHAT_PATH, body: new Conversation("a").body(), worker });
    assert.equal(stream.held, true);
    assert.equal(bodyCallbacks(envoy, stream), 0);
    envoy.tick(HOLD_STALL_MS + TICK_MS);
    assert.equal(stream.held, false);
    assert.equal(stream.respond(), true);
  }
  settle(envoy);
}

/** Lets time pass until the watchdog has just let this one go. */
function releaseNow(envoy: VirtualEnvoy, stream: ReturnType<VirtualEnvoy["send"]>): void {
  for (let ms = 0; stream.held; ms++) {
    assert.ok(ms <= HOLD_STALL_MS + TICK_MS, "held for too long");
    envoy.tick(1);
  }
}

function setFlag(envoy: VirtualEnvoy, flag: boolean): void {
  (envoy as unknown as { options: { flag: boolean } }).options.flag = flag;
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
      for (let index = 0; index < STRIKES; index++) {
        assert.equal(read(envoy, "smetric_cap_lowered"), 0);
        const stream = envoy.send({ path: CHAT_PATH, body, worker: index % 2 });
        assert.equal(stream.ended, false);
        assert.ok(stream.waitingBytes > 0);
        envoy.tick(HOLD_STALL_MS + 2 * TICK_MS);
        assert.equal(stream.waitingBytes, 0);
        assert.equal(stream.respond(), true);
        assert.equal(stream.upstream?.bodyBytes, body.length);
      }
      assert.equal(read(envoy, "smetric_cap_lowered"), 1);
      envoy.tick(10 * TICK_MS);
      for (const worker of [0, 1]) {
        const later = envoy.send({ path: CHAT_PATH, body, worker });
        assert.equal(later.ending, "completed", "only the first requests pay");
      }
      assert.deepEqual(outcomes(envoy), { stalled: STRIKES, over_cap: 2 });
      const said = envoy.logs.filter((line) => /cap|limit/i.test(line.message));
      assert.equal(said.length, 1, "the lowered cap is logged once");
      assertNoTrap(envoy);
    });

    it("holds as many bytes of HTTP/2 requests as ever where HTTP/1 ones got stuck", async () => {
      const limits = { connectionBytes: 32 * KIB };
      const envoy = await startGateway({ target, limits });
      getStuck(envoy);
      const body = LONG.body();
      const [http1, http2] = (["http1", "http2"] as const).map((protocol) =>
        envoy.request({ path: CHAT_PATH, chunks: pieces(body), protocol }),
      );
      assert.equal(http1!.upstreamHeaders?.["x-smetric-turn"], "2");
      assert.equal(http2!.upstreamHeaders?.["x-smetric-turn"], "3");
    });

    it("begins anew with a new configuration", async () => {
      const limits = { connectionBytes: 32 * KIB };
      const envoy = await startGateway({ target, limits });
      getStuck(envoy);
      assert.equal(turnOf(envoy), "2");
      envoy.limits.connectionBytes = 10 * 1024 * KIB;
      assert.equal(envoy.update({ hold_cap_bytes: 8 * 1024 * KIB }), true);
      assert.equal(turnOf(envoy), "3");
    });

    it("tries a learned cap again with one stream at a time", async () => {
      const envoy = await startGateway({
        target,
        limits: { connectionBytes: 32 * KIB },
        workers: 2,
      });
      getStuck(envoy);
      envoy.tick(RETRY_MS);
      const [trial, other] = [0, 1].map((worker) =>
        envoy.send({ path: CHAT_PATH, body: LONG.body(), worker }),
      );
      assert.deepEqual([trial!.held, other!.ending], [true, "completed"]);
      envoy.tick(HOLD_STALL_MS + TICK_MS);
      assert.equal(trial!.respond(), true);
      assert.equal(read(envoy, "smetric_cap_lowered"), 2, "found true again");
      envoy.tick(RETRY_MS / 2);
      assert.equal(turnOf(envoy), "2");

      envoy.limits.connectionBytes = 10 * 1024 * KIB;
      envoy.tick(RETRY_MS / 2);
      assert.equal(turnOf(envoy), "3", "it is tried");
      envoy.tick(CALM_TICK_MS);
      for (const worker of [0, 1]) assert.equal(turnOf(envoy, worker), "3", `worker ${worker}`);
    });

    it("raises a learned cap to what a trial could hold", async () => {
      const envoy = await startGateway({ target, limits: { connectionBytes: 32 * KIB } });
      getStuck(envoy);
      const body = longConversation(45 * KIB)
        .answer("ok")
        .ask("go")
        .body();
      const turn = (): string | undefined =>
        envoy.request({ path: CHAT_PATH, chunks: pieces(body) }).upstreamHeaders?.[
          "x-smetric-turn"
        ];
      assert.equal(turn(), "2");
      envoy.limits.connectionBytes = 10 * 1024 * KIB;
      envoy.tick(RETRY_MS);
      for (let index = 0; index < 3; index++) assert.equal(turn(), "3");
    });

    it("does not believe clients that pause, however many, while longer bodies come", async () => {
      const envoy = await startGateway({ target, workers: 2 });
      for (let round = 0; round < 2 * STRIKES; round++) {
        const slow = [1, 2, 3, 4].map(() => envoy.openStream({ path: CHAT_PATH, worker: 0 }));
        for (const stream of slow) stream.sendChunk(LONG.body().slice(0, 31 * KIB));
        releaseNow(envoy, slow[0]!);
        for (const stream of slow) stream.sendChunk("b");
        assert.equal(turnOf(envoy, 1), "3");
        for (const stream of slow) stream.abort();
      }
      assert.equal(read(envoy, "smetric_cap_lowered"), 0);
    });

    it("does not believe a client that comes a little later than what lay in Envoy", async () => {
      const envoy = await startGateway({ target });
      for (let round = 0; round < 2 * STRIKES; round++) {
        const slow = envoy.openStream({ path: CHAT_PATH });
        slow.sendChunk(LONG.body().slice(0, 31 * KIB));
        const later = envoy.openStream({ path: CHAT_PATH });
        releaseNow(envoy, slow);
        envoy.tick(WAITING_MS + 5);
        for (const stream of [slow, later]) stream.sendChunk("b");
        for (const stream of [slow, later]) stream.abort();
      }
      assert.equal(turnOf(envoy), "3");
      assert.equal(read(envoy, "smetric_cap_lowered"), 0);
      assert.equal(read(envoy, "smetric_hold_unsupported"), 0);
    });

    it("works within the 64 KiB window of an HTTP/2 client", async () => {
      const limits = { http2WindowBytes: 64 * KIB };
      const envoy = await startGateway({ target, limits });
      const body = longConversation(400 * KIB).body();
      for (let index = 0; index < STRIKES; index++) {
        const stream = envoy.send({ path: CHAT_PATH, body, protocol: "http2" });
        envoy.tick(HOLD_STALL_MS + 2 * TICK_MS);
        assert.equal(stream.respond(), true);
      }
      const later = envoy.send({ path: CHAT_PATH, body, protocol: "http2" });
      assert.equal(later.ending, "completed");
      assert.equal(later.upstream?.bodyBytes, body.length);
    });

    it("notices a host without the flag, frees the first requests and streams from then on", async () => {
      const envoy = await startGateway({ target, flag: false, workers: 2 });
      missBodies(envoy);
      assert.equal(read(envoy, "smetric_hold_unsupported"), 1);
      for (const worker of [0, 1]) {
        const later = envoy.send({ path: CHAT_PATH, body: new Conversation("b").body(), worker });
        assert.equal(later.ending, "completed");
      }
      assertQuiet(envoy);
    });

    it("finds a missing flag again and again, more often than the alert looks back", async () => {
      const envoy = await startGateway({ target, flag: false, workers: 2, trace: false });
      missBodies(envoy);
      let held = 0;
      for (let window = 1; window <= 3; window++) {
        const before = read(envoy, "smetric_hold_unsupported");
        for (let waitedMs = 0; waitedMs < ALERT_MS; waitedMs += 20_000) {
          const streams = [0, 1].map((worker) =>
            envoy.send({ path: CHAT_PATH, body: new Conversation("b").body(), worker }),
          );
          const waiting = streams.filter((stream) => stream.held);
          held += waiting.length;
          assert.ok(waiting.length <= 1, "one at a time pays");
          envoy.tick(HOLD_STALL_MS + TICK_MS);
          for (const stream of waiting) assert.equal(stream.respond(), true);
          envoy.tick(20_000 - HOLD_STALL_MS - TICK_MS);
        }
        assert.ok(read(envoy, "smetric_hold_unsupported") > before);
      }
      assert.equal(read(envoy, "smetric_hold_unsupported"), 1 + held);
      const said = envoy.logs.filter((line) => line.message.includes("allow_on_headers"));
      assert.equal(said.length, 1, "it is logged once");
    });

    it("holds again some minutes after the flag was set", async () => {
      const options = { flag: false, workers: 2 };
      const envoy = await startGateway({ target, ...options });
      missBodies(envoy);
      // Envoy's configuration of the plugin changes, the filter's own does not.
      setFlag(envoy, true);
      assert.equal(turnOf(envoy, 1), undefined);
      envoy.tick(RETRY_MS);
      assert.equal(turnOf(envoy, 0), "3", "it is tried");
      envoy.tick(CALM_TICK_MS);
      for (const worker of [0, 1]) assert.equal(turnOf(envoy, worker), "3", `worker ${worker}`);
    });

    it("gives up again where the flag is taken away", async () => {
      const envoy = await startGateway({ target, workers: 2 });
      assert.equal(turnOf(envoy, 0), "3");
      setFlag(envoy, false);
      envoy.tick(HOLD_STALL_MS);
      missBodies(envoy);
      assert.equal(turnOf(envoy, 1), undefined);
    });

    it("does not believe slow clients while another worker gets bodies", async () => {
      const envoy = await startGateway({ target, workers: 2 });
      for (let round = 0; round < STRIKES; round++) {
        const slow = [1, 2, 3, 4].map(() => envoy.openStream({ path: CHAT_PATH, worker: 0 }));
        envoy.tick(HOLD_STALL_MS / 2);
        assert.equal(turnOf(envoy, 1), "3");
        releaseNow(envoy, slow[0]!);
        for (const stream of slow) stream.sendChunk(LONG.body(), true);
        for (const stream of slow) stream.respond();
      }
      assert.equal(read(envoy, "smetric_hold_unsupported"), 0);
      for (const worker of [0, 1]) assert.equal(turnOf(envoy, worker), "3", `worker ${worker}`);
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
