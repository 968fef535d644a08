// SPDX-License-Identifier: Apache-2.0
// Several clusters behind one filter: what one of them holds and costs says nothing of another.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { VirtualEnvoy } from "../../lab/virtual-envoy/index.ts";
import { CHAT_PATH, Conversation, converse, settle, startGateway, TARGETS } from "./harness.ts";

const ROUTES = [{ cluster: "b", headers: { "x-to": "b" } }, { cluster: "a" }];
const TO_B = { "x-to": "b" };
const EVENT_STREAM = { "content-type": "text/event-stream" };
const FIRST_EVENT = 'data: {"id":"x","choices":[{"delta":{"content":"a"}}]}\n\n';
const USAGE = {
  prompt_tokens: 4_000,
  completion_tokens: 20,
  prompt_tokens_details: { cached_tokens: 0 },
};
const LAST_EVENTS = `data: ${JSON.stringify({ id: "x", choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;
const FIRST_TURNS = 60;

function long(name: string, times: number): Conversation {
  return new Conversation(name).ask(`some words of ${name} `.repeat(times));
}

/** Long prefills are pending in cluster b. */
function fillB(envoy: VirtualEnvoy): void {
  for (const name of ["p1", "p2", "p3"]) {
    const conversation = long(name, 20_000);
    converse(envoy, conversation, { headers: TO_B });
    const body = conversation.next(1).ask("more words ".repeat(20_000)).body();
    envoy.send({ path: CHAT_PATH, headers: TO_B, body, response: false });
  }
}

/** The price of a prompt token that first turns in cluster a teach. */
async function learnedPrice(
  target: (typeof TARGETS)[number],
  interferes: boolean,
): Promise<number> {
  const clusters = [
    { name: "a", endpoints: ["10.0.0.1:8000"] },
    { name: "b", endpoints: ["10.0.1.1:8000"] },
  ];
  const configuration = { first_turn: "least-request" };
  const envoy = await startGateway({ target, workers: 1, configuration, clusters, routes: ROUTES });
  const other = long("b", 20_000);
  converse(envoy, long("a0", 1_000));
  envoy.tick(100);
  converse(envoy, other, { headers: TO_B });
  fillB(envoy);
  for (let index = 0; index < FIRST_TURNS; index++) {
    const body = long(`a${index}`, 1_000).body();
    const stream = envoy.send({ path: CHAT_PATH, body, response: false });
    envoy.tick(3_000);
    if (interferes) {
      const beside = other.next(index).body();
      envoy.send({ path: CHAT_PATH, headers: TO_B, body: beside, response: false }).abort();
    }
    stream.respondHeaders(200, EVENT_STREAM);
    stream.respondChunk(FIRST_EVENT);
    stream.respondChunk(LAST_EVENTS, true);
    envoy.tick(1_000);
  }
  settle(envoy);
  return envoy.metrics.read("smetric_uncached_token_ns");
}

for (const target of TARGETS) {
  describe(`Two clusters behind the ${target} module`, () => {
    it("share no homes", async () => {
      const clusters = [
        { name: "a", endpoints: ["10.0.0.1:8000", "10.0.0.2:8000"] },
        { name: "b", endpoints: ["10.0.1.1:8000", "10.0.1.2:8000"] },
      ];
      const envoy = await startGateway({ target, workers: 1, clusters, routes: ROUTES });
      for (let index = 0; index < 4; index++) {
        converse(envoy, new Conversation(`a${index}`));
        envoy.tick(100);
        converse(envoy, new Conversation(`b${index}`), { headers: TO_B });
        envoy.tick(100);
      }
      const conversation = new Conversation("s");
      converse(envoy, conversation);
      envoy.tick(100);
      const moved = converse(envoy, conversation.next(1), { headers: TO_B });
      assert.equal(moved.upstreamHeaders?.["x-smetric-decision"], "cold");
    });

    it("keep apart from the first request of the second", async () => {
      const clusters = [
        { name: "a", endpoints: ["10.0.0.1:8000"] },
        { name: "b", endpoints: ["10.0.1.1:8000"] },
      ];
      const envoy = await startGateway({ target, workers: 1, clusters, routes: ROUTES });
      for (let index = 0; index < 4; index++) {
        const body = new Conversation(`a${index}`).body();
        envoy.request({ path: CHAT_PATH, body });
        const other = new Conversation(`b${index}`).body();
        if (index > 1) envoy.request({ path: CHAT_PATH, body: other, headers: TO_B });
      }
      envoy.tick(100);
      for (let index = 0; index < 8; index++) {
        const seen = converse(envoy, new Conversation(`c${index}`));
        assert.equal(seen.endpoint, "10.0.0.1:8000");
        const pin = seen.upstreamHeaders?.["x-smetric-endpoint"];
        if (pin !== undefined) assert.equal(Buffer.from(pin, "base64").toString(), seen.endpoint);
      }
      settle(envoy);
      assert.equal(envoy.metrics.read("smetric_pins.result.moved"), 0);
    });

    it("learn prices from their own loads", async () => {
      const alone = await learnedPrice(target, false);
      assert.ok(alone > 0);
      assert.equal(await learnedPrice(target, true), alone);
    });
  });
}
