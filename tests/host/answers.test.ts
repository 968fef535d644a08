// SPDX-License-Identifier: Apache-2.0
// Answers that come in unusual pieces or at unusual times still teach what they say.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  assertNoTrap,
  CHAT_PATH,
  Conversation,
  recordOf,
  startGateway,
  TARGETS,
} from "./harness.ts";

const EVENT_STREAM = { "content-type": "text/event-stream" };
const CHUNK_BYTES = 16_384;

function cut(text: string): string[] {
  const count = Math.ceil(text.length / CHUNK_BYTES);
  return Array.from({ length: count }, (_, index) =>
    text.slice(index * CHUNK_BYTES, (index + 1) * CHUNK_BYTES),
  );
}

/** The last event of a Responses stream repeats the whole output in front of the usage. */
const COMPLETED = {
  type: "response.completed",
  response: {
    id: "r",
    status: "completed",
    output: [{ type: "message", content: [{ type: "output_text", text: "word ".repeat(8_000) }] }],
    usage: {
      input_tokens: 5_000,
      output_tokens: 700,
      input_tokens_details: { cached_tokens: 4_096 },
    },
  },
};

for (const target of TARGETS) {
  describe(`Answers through the ${target} module`, () => {
    it("tell the usage of a Responses stream whose last event comes in several chunks", async () => {
      const envoy = await startGateway({ target, configuration: { record: true } });
      const { type, response } = COMPLETED;
      for (const event of [COMPLETED, { response, type }]) {
        const chunks = cut(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
        const seen = envoy.request({
          path: "/v1/responses",
          body: '{"model":"m","input":"q"}',
          response: { headers: EVENT_STREAM, chunks },
        });
        const told = Object.entries(recordOf(seen)).filter(([name]) =>
          ["reported_prompt_tokens", "cached_tokens", "output_tokens"].includes(name),
        );
        assert.deepEqual(Object.fromEntries(told), {
          reported_prompt_tokens: 5_000,
          cached_tokens: 4_096,
          output_tokens: 700,
        });
      }
    });

    it("begin anew where one comes before its request has ended", async () => {
      const envoy = await startGateway({ target, configuration: { mode: "observe" } });
      const first = envoy.send({
        path: CHAT_PATH,
        body: new Conversation("a").body(),
        response: false,
      });
      first.respondHeaders(200, EVENT_STREAM);
      first.respondChunk('data: {"id":"x","cho');
      first.abort();
      const body = new Conversation("b").body();
      const second = envoy.openStream({ path: CHAT_PATH, protocol: "http2" });
      second.sendChunk(body.slice(0, 20));
      second.respondHeaders(200, EVENT_STREAM);
      second.sendChunk(body.slice(20), true);
      second.respondChunk('data: {"id":"y"}\n\n');
      second.respondEnd();
      assertNoTrap(envoy);
    });
  });
}
