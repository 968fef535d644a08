// SPDX-License-Identifier: Apache-2.0
// Whatever the body is, the endpoint gets it byte-identical, and the stream ends in the outcome that it deserves.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import {
  assertNoTrap,
  assertQuiet,
  CHAT_PATH,
  Conversation,
  endedStreams,
  outcomes,
  startGateway,
  TARGETS,
} from "./harness.ts";

const CHAT = new Conversation("a").next(1).body();

interface Case {
  name: string;
  body: string | Buffer;
  outcome: string;
  headers?: Record<string, string>;
  path?: string;
}

const CASES: Case[] = [
  { name: "a conversation", body: CHAT, outcome: "conversation" },
  { name: "white space only", body: "  \n\t ", outcome: "truncated" },
  { name: "text that is not JSON", body: "hello", outcome: "malformed" },
  { name: "a document with garbage after it", body: `${CHAT} x`, outcome: "malformed" },
  { name: "a document that stops in the middle", body: CHAT.slice(0, -20), outcome: "truncated" },
  { name: "one byte", body: "{", outcome: "truncated" },
  { name: "an empty object", body: "{}", outcome: "not_conversation" },
  { name: "a JSON array", body: "[1,2]", outcome: "not_conversation" },
  { name: "messages of a wrong type", body: '{"messages":{"a":1}}', outcome: "not_conversation" },
  {
    name: "nesting 10,000 levels deep",
    body: "[".repeat(10_000) + "]".repeat(10_000),
    outcome: "*",
  },
  { name: "zero bytes inside", body: Buffer.from([0, 1, 2, 0, 255]), outcome: "malformed" },
  {
    name: "invalid UTF-8 in a text",
    body: Buffer.concat([
      Buffer.from('{"model":"m","messages":[{"role":"user","content":"a'),
      Buffer.from([0xff, 0xc0, 0x80]),
      Buffer.from('b"}]}'),
    ]),
    outcome: "conversation",
  },
  {
    name: "a compressed body",
    body: gzipSync(CHAT),
    headers: { "content-encoding": "gzip" },
    outcome: "encoded",
  },
  { name: "another path", body: CHAT, path: "/v1/images", outcome: "passed" },
];

function sha(body: string | Buffer): string {
  return createHash("sha256").update(body).digest("hex");
}

for (const target of TARGETS) {
  describe(`Bodies through the ${target} module`, () => {
    for (const { name, body, outcome, headers, path } of CASES) {
      it(`forwards ${name} untouched and counts it once`, async () => {
        const envoy = await startGateway({ target });
        const bytes = Buffer.from(body);
        const seen = envoy.request({
          path: path ?? CHAT_PATH,
          headers: headers ?? {},
          body: bytes,
        });
        assert.equal(seen.status, 200);
        assert.equal(seen.bodySha, sha(bytes));
        assert.equal(endedStreams(envoy), 1);
        if (outcome !== "*") assert.deepEqual(outcomes(envoy), { [outcome]: 1 });
        assertQuiet(envoy);
        assertNoTrap(envoy);
      });
    }

    it("reads the same request in every shape in which it can arrive", async () => {
      const envoy = await startGateway({ target });
      const bytes = Buffer.from(CHAT);
      const single = Array.from(bytes, (byte) => Buffer.from([byte]));
      const shapes = [
        { body: bytes },
        { body: bytes, protocol: "http2" as const },
        { body: bytes, protocol: "http2" as const, endOnLastFrame: true },
        { chunks: single },
        { chunks: [bytes.subarray(0, 7), bytes.subarray(7)], trailers: { "x-sum": "1" } },
        { body: bytes, headers: { expect: "100-continue" } },
      ];
      for (const shape of shapes) {
        const seen = envoy.request({ path: CHAT_PATH, ...shape });
        assert.equal(seen.status, 200);
        assert.equal(seen.bodySha, sha(bytes));
        assert.equal(seen.upstreamHeaders?.["x-smetric-turn"], "2");
      }
      assert.deepEqual(outcomes(envoy), { conversation: shapes.length });
      assertQuiet(envoy);
    });

    it("gives the same answer wherever the bytes are split", async () => {
      const envoy = await startGateway({ target, trace: false });
      const bytes = Buffer.from(CHAT);
      let wanted: string | undefined;
      for (let split = 1; split < bytes.length; split++) {
        const chunks = [bytes.subarray(0, split), bytes.subarray(split)];
        const { upstreamHeaders } = envoy.request({ path: CHAT_PATH, chunks });
        const turn = upstreamHeaders?.["x-smetric-turn"];
        const session = upstreamHeaders?.["x-smetric-session"];
        wanted ??= `${turn} ${session}`;
        assert.equal(`${turn} ${session}`, wanted);
      }
    });

    it("passes requests without a body and other methods", async () => {
      const envoy = await startGateway({ target });
      envoy.request({ path: CHAT_PATH, method: "GET" });
      envoy.request({ path: CHAT_PATH, method: "POST" });
      envoy.request({ path: CHAT_PATH, method: "POST", chunks: [""] });
      envoy.request({ path: CHAT_PATH, method: "PUT", body: CHAT });
      assert.equal(endedStreams(envoy), 4);
      assertQuiet(envoy);
    });

    it("does not flood the log", async () => {
      const envoy = await startGateway({ target });
      const before = envoy.logs.length;
      for (let round = 0; round < 500; round++) {
        envoy.request({ path: CHAT_PATH, body: "not json" });
      }
      assert.ok(envoy.logs.length - before <= 1);
    });
  });
}
