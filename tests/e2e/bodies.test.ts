// SPDX-License-Identifier: Apache-2.0
// Bodies of every size and framing reach the endpoint byte for byte, and are read on the way.
import assert from "node:assert/strict";
import { test } from "node:test";
import { send, sendByteByByte, sendHttp2, type Reply, type SendOptions } from "./harness/client.ts";
import { sha256, type Exchange } from "./harness/endpoint.ts";
import { startFleet, type Fleet } from "./harness/fleet.ts";
import {
  answersExpect,
  forwardsTrailers,
  on,
  ROUTING_WAYS,
  writesDecisionHeaders,
} from "./harness/ways.ts";

type Sender = (url: string, body: string, options?: SendOptions) => Promise<Reply>;

const SENDERS: Record<string, Sender> = {
  "with a content length": (url, body) => send(url, body),
  chunked: (url, body) => send(url, body, { chunkBytes: 7_919 }),
  "over HTTP/2": (url, body) => sendHttp2(url, body),
};

/** Fields that proxies like to drop, odd spacing and odd escapes: only an untouched body hashes the same. */
function conversation(sizeBytes: number): string {
  const head =
    '{ "model":"m", "cache_salt":"s1",  "priority":-3, "x_unknown": {"deep":[1,2.50,1e3]},\n' +
    '"messages":[{"role":"user","content":"caf\\u00e9 \\/ first","name":null},' +
    '{"role":"assistant","content":"ok"},{"role":"user","content":"';
  const tail = '"}] , "stream" : false }';
  return (
    head +
    "line of code\\n"
      .repeat(1 + sizeBytes / 14)
      .slice(0, sizeBytes - head.length - tail.length - 14) +
    tail
  );
}

const BODIES: { size: string; body: string; isConversation: boolean }[] = [
  { size: "0 B", body: "", isConversation: false },
  { size: "1 B", body: "7", isConversation: false },
  { size: "33 KB", body: conversation(33_000), isConversation: true },
  { size: "1.1 MB", body: conversation(1_100_000), isConversation: true },
  { size: "6 MB", body: conversation(6_000_000), isConversation: true },
];

function onlyExchange(fleet: Fleet): Exchange {
  const exchanges = fleet.exchanges;
  for (const endpoint of fleet.endpoints) endpoint.exchanges.length = 0;
  assert.equal(exchanges.length, 1);
  return exchanges[0] as Exchange;
}

function assertUntouched(fleet: Fleet, reply: Reply, body: string): Exchange {
  assert.equal(reply.status, 200);
  const exchange = onlyExchange(fleet);
  assert.equal(exchange.bodyBytes, Buffer.byteLength(body));
  assert.equal(exchange.bodySha256, sha256(body));
  return exchange;
}

for (const way of ROUTING_WAYS) {
  test(on(way, "bodies of all sizes and framings arrive untouched and read"), async (t) => {
    const fleet = await startFleet(t, way);
    const { url } = fleet.envoy;
    const assertTurn = (exchange: Exchange, turn: string | undefined): void => {
      const expected = writesDecisionHeaders(way) ? turn : undefined;
      assert.equal(exchange.headers["x-smetric-turn"], expected);
    };
    for (const { size, body, isConversation } of BODIES) {
      for (const [framing, sender] of Object.entries(SENDERS)) {
        await t.test(`${size} ${framing}`, async () => {
          const exchange = assertUntouched(fleet, await sender(url, body), body);
          assertTurn(exchange, isConversation ? "2" : undefined);
        });
      }
    }
    const body = conversation(40_000);
    await t.test("with HTTP/1 trailers", async () => {
      const reply = await send(url, body, { chunkBytes: 9_001, trailers: { "x-checksum": "abc" } });
      const exchange = assertUntouched(fleet, reply, body);
      assert.equal(exchange.trailers["x-checksum"], forwardsTrailers(way) ? "abc" : undefined);
      assertTurn(exchange, "2");
    });
    await t.test("with HTTP/2 trailers", async () => {
      const exchange = assertUntouched(
        fleet,
        await sendHttp2(url, body, { trailers: { "x-checksum": "abc" } }),
        body,
      );
      assert.equal(exchange.trailers["x-checksum"], forwardsTrailers(way) ? "abc" : undefined);
      assertTurn(exchange, "2");
    });
    await t.test("after Expect: 100-continue", async () => {
      const exchange = assertUntouched(fleet, await send(url, body, { expect: true }), body);
      if (answersExpect(way)) assertTurn(exchange, "2");
    });
    await t.test("one byte at a time", async () => {
      const small = conversation(2_000);
      const exchange = assertUntouched(fleet, await sendByteByByte(url, small), small);
      assertTurn(exchange, "2");
    });
  });
}
