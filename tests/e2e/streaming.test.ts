// SPDX-License-Identifier: Apache-2.0
// Event streams reach the client chunk by chunk: each chunk is sent only after the client has got the one before.
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { request } from "node:http";
import { test } from "node:test";
import { CHAT_PATH, responseTo } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { startFleet } from "./harness/fleet.ts";
import { on, ROUTING_WAYS } from "./harness/ways.ts";

/** Events split in the middle, several in one chunk, a comment, and one of a single byte. */
const CHUNKS = [
  'data: {"id":"1","choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n',
  'data: {"id":"1","choices":[{"index":0,"delta":{"con',
  'tent":"caf\u00e9"}}]}\n\ndata: {"id":"1","choices":[]}\n\n: ping\n\n',
  "d",
  'ata: {"id":"1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\r\n\r\n',
  'data: {"id":"1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5}}\n\n',
  "data: [DONE]\n\n",
];

for (const way of ROUTING_WAYS) {
  test(on(way, "an event stream passes chunk by chunk"), async (t) => {
    const arrivals = new EventEmitter();
    const fleet = await startFleet(t, {
      ...way,
      answer: async (_, response) => {
        response.writeHead(200, { "content-type": "text/event-stream" });
        for (const chunk of CHUNKS) {
          const arrived = once(arrivals, "chunk");
          response.write(chunk);
          const [text] = (await arrived) as [string];
          if (text !== chunk) response.destroy(new Error("merged or split on the way"));
        }
        response.end();
      },
    });
    const outgoing = request(fleet.envoy.url + CHAT_PATH, { method: "POST", agent: false });
    outgoing.end(new Conversation("hello", { fields: { stream: true } }).body());
    const incoming = await responseTo(outgoing);
    const received: string[] = [];
    for await (const chunk of incoming) {
      received.push(String(chunk));
      arrivals.emit("chunk", String(chunk));
    }
    assert.deepEqual(received, CHUNKS);
  });
}
