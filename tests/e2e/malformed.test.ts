// SPDX-License-Identifier: Apache-2.0
// What is no conversation is none of the filter's business: forwarded untouched, counted once, hardly logged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { send } from "./harness/client.ts";
import { sha256 } from "./harness/endpoint.ts";
import { outcomes, startFleet, until } from "./harness/fleet.ts";
import { on, ROUTING_WAYS, writesDecisionHeaders } from "./harness/ways.ts";

const DEPTH = 10_000;
const GOOD = JSON.stringify({
  model: "m",
  messages: [
    { role: "user", content: "hi" },
    { role: "assistant", content: "hello" },
    { role: "user", content: "more" },
  ],
});

const CASES: { what: string; body: string | Buffer; headers?: Record<string, string> }[] = [
  { what: "an empty body", body: "" },
  { what: "white space", body: " \n\t " },
  { what: "plain text", body: "hello" },
  { what: "a truncated document", body: GOOD.slice(0, -20) },
  { what: "a truncated string", body: GOOD.slice(0, GOOD.indexOf("hello") + 2) },
  { what: "a second document behind the first", body: GOOD + GOOD },
  { what: "a compressed body", body: gzipSync(GOOD), headers: { "content-encoding": "gzip" } },
  { what: "a compressed body that does not say so", body: gzipSync(GOOD) },
  {
    what: "invalid UTF-8",
    body: Buffer.concat([
      Buffer.from('{"messages":[{"role":"user","content":"'),
      Buffer.from([0xff, 0xc0, 0x80, 0xed, 0xa0, 0x80]),
      Buffer.from('"}]}'),
    ]),
  },
  { what: "lone surrogates", body: '{"messages":[{"role":"user","content":"\\ud800 \\udc00"}]}' },
  { what: "a byte order mark", body: `\ufeff${GOOD}` },
  { what: "NUL bytes", body: "\0".repeat(1000) },
  { what: "10,000 levels of arrays", body: "[".repeat(DEPTH) + "]".repeat(DEPTH) },
  {
    what: "10,000 levels inside a message",
    body: `{"messages":[{"role":"user","content":${'{"a":'.repeat(DEPTH)}1${"}".repeat(DEPTH)}}]}`,
  },
  { what: "10,000 levels that never close", body: '{"messages":['.repeat(DEPTH) },
  { what: "a key of a megabyte", body: `{"${"k".repeat(1 << 20)}":1,"messages":[]}` },
  { what: "messages that is a number", body: '{"messages":7}' },
  { what: "messages that is a string", body: '{"messages":"hi"}' },
  { what: "messages of numbers", body: '{"messages":[1,2,null,true,"x",[]]}' },
  {
    what: "roles that are no strings",
    body: '{"messages":[{"role":7,"content":{}},{"role":null}]}',
  },
  {
    what: "duplicate fields",
    body: '{"messages":[],"messages":[{"role":"user","role":"assistant"}]}',
  },
  { what: "a number without end", body: `{"messages":${"9".repeat(100_000)}}` },
];

const REPEATS = 5;

for (const way of ROUTING_WAYS) {
  test(on(way, "malformed bodies pass untouched and are counted"), async (t) => {
    const fleet = await startFleet(t, way);
    const linesBefore = fleet.envoy.log().split("\n").length;
    for (const { what, body, headers } of CASES) {
      await t.test(what, async () => {
        for (let i = 0; i < REPEATS; i++) {
          const reply = await send(fleet.envoy.url, body, { headers: headers ?? {} });
          assert.equal(reply.status, 200);
          const exchange = fleet.exchanges.find((seen) => seen.bodySha256 === sha256(body));
          assert.ok(exchange, "the endpoint got other bytes");
        }
      });
    }
    const sent = CASES.length * REPEATS;
    assert.equal(fleet.exchanges.length, sent);
    await t.test("each is counted in exactly one outcome", async () => {
      const total = async (): Promise<number> =>
        Object.values(await outcomes(fleet)).reduce((sum, count) => sum + count, 0);
      await until("all are counted", async () => (await total()) >= sent);
      assert.equal(await total(), sent);
      const counted = await outcomes(fleet);
      for (const outcome of ["malformed", "truncated", "encoded", "no_body", "not_conversation"]) {
        assert.ok((counted[outcome] ?? 0) >= REPEATS, `${outcome}: ${JSON.stringify(counted)}`);
      }
    });
    await t.test("the log is not flooded", () => {
      const lines = fleet.envoy.log().split("\n").length - linesBefore;
      assert.ok(lines <= 5, fleet.envoy.log());
    });
    await t.test("the filter still works", async () => {
      await send(fleet.envoy.url, GOOD);
      const last = fleet.exchanges.find((seen) => seen.bodySha256 === sha256(GOOD));
      assert.equal(last?.headers["x-smetric-turn"], writesDecisionHeaders(way) ? "2" : undefined);
    });
  });
}
