// SPDX-License-Identifier: Apache-2.0
// No request hangs because the filter waits: tight buffer limits, stalled clients, hosts that cannot hold.
import assert from "node:assert/strict";
import { request } from "node:http";
import { test } from "node:test";
import { connectionManagers, wasmPlugins, type Bootstrap } from "../../envoy/bootstrap.ts";
import { CHAT_PATH, responseTo, send, sendHttp2, takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { sha256 } from "./harness/endpoint.ts";
import { startFleet, until, type Fleet } from "./harness/fleet.ts";
import { HOLDING_WAYS, on, seesEveryRequest } from "./harness/ways.ts";

/** What Envoy Gateway sets: 32 KiB a connection, 64 KiB a stream. */
function tightLimits(bootstrap: Bootstrap): void {
  setLimits(bootstrap, 32_768, 65_536);
}

/** What Envoy does when nothing is set: 1 MiB a connection. */
function defaultLimits(bootstrap: Bootstrap): void {
  setLimits(bootstrap, 1_048_576, 16_777_216);
}

function setLimits(bootstrap: Bootstrap, connectionBytes: number, windowBytes: number): void {
  for (const listener of bootstrap.static_resources.listeners) {
    listener["per_connection_buffer_limit_bytes"] = connectionBytes;
  }
  for (const manager of connectionManagers(bootstrap)) {
    manager["http2_protocol_options"] = { initial_stream_window_size: windowBytes };
    const table = manager["route_config"] as { virtual_hosts: Record<string, unknown>[] };
    for (const host of table.virtual_hosts) delete host["request_body_buffer_limit"];
  }
}

/** Three turns of ordinary size. */
async function startSession(fleet: Fleet, text: string): Promise<Conversation> {
  const session = new Conversation(text);
  for (let turn = 1; turn <= 3; turn++) {
    assert.equal((await takeTurn(fleet.envoy.url, session, `Then ${turn}.`)).status, 200);
  }
  return session;
}

function logged(fleet: Fleet, text: RegExp): number {
  return fleet.envoy
    .log()
    .split("\n")
    .filter((line) => text.test(line)).length;
}

const SENDERS: [string, typeof send][] = [
  ["with a content length", send],
  ["chunked", (url, body) => send(url, body, { chunkBytes: 10_000 })],
  ["over HTTP/2", sendHttp2],
];

/** Two turns with a text that no limit holds, at the end of a session: both untouched, both at home. */
async function assertHome(fleet: Fleet, sender: typeof send, text: string): Promise<void> {
  const session = await startSession(fleet, `Read ${text.length} characters.`);
  const home = session.messages.at(-2)?.content?.split(" of ")[1];
  for (let turn = 4; turn <= 5; turn++) {
    session.messages.push({ role: "user", content: text });
    const body = session.body();
    assert.equal((await sender(fleet.envoy.url, body)).status, 200);
    const exchange = fleet.exchanges.find((seen) => seen.bodySha256 === sha256(body));
    assert.ok(exchange, "the endpoint got other bytes");
    assert.equal(exchange.endpoint, home);
    assert.notEqual(exchange.headers["x-smetric-turn"], "1");
    session.messages.push({ role: "assistant", content: "ok" });
  }
}

for (const way of HOLDING_WAYS) {
  const limits: [string, (bootstrap: Bootstrap) => void, number][] = [
    ["32 KiB limits", tightLimits, 300_000],
    ["Envoy's default limits", defaultLimits, 3_000_000],
  ];
  for (const [what, edit, sizeBytes] of limits) {
    test(on(way, `follow-ups beyond ${what} pass untouched and go home`), async (t) => {
      const fleet = await startFleet(t, { ...way, edit, configuration: { hold_stall_ms: 200 } });
      for (const [framing, sender] of SENDERS) {
        await t.test(framing, () =>
          assertHome(fleet, sender, "line of code\n".repeat(sizeBytes / 13)),
        );
      }
      const buffered = !seesEveryRequest(way);
      const stalls = logged(fleet, /buffer limit is lower/);
      assert.ok(buffered ? stalls === 0 : stalls >= 1 && stalls <= 2, fleet.envoy.log());
    });
  }
}

for (const way of HOLDING_WAYS.filter(seesEveryRequest)) {
  test(on(way, "a client that stalls is let go with what is known"), async (t) => {
    const fleet = await startFleet(t, { ...way, size: 1, configuration: { hold_stall_ms: 100 } });
    const [endpoint] = fleet.endpoints;
    assert.ok(endpoint);
    const session = await startSession(fleet, "Begin.");
    session.messages.push({ role: "user", content: "x".repeat(10_000) });
    const body = session.body();
    const outgoing = request(fleet.envoy.url + CHAT_PATH, {
      method: "POST",
      headers: { "content-length": body.length },
      agent: false,
    });
    outgoing.write(body.slice(0, body.length / 2));
    await until("the request is let go", () => endpoint.heads === 4);
    outgoing.end(body.slice(body.length / 2));
    const incoming = await responseTo(outgoing);
    incoming.resume();
    assert.equal(incoming.statusCode, 200);
    const exchange = endpoint.exchanges.at(-1);
    assert.equal(exchange?.bodySha256, sha256(body));
    assert.notEqual(exchange.headers["x-smetric-turn"], "1");
  });
}

test("without allow_on_headers_stop_iteration requests pass, and the log says why once", async (t) => {
  const fleet = await startFleet(t, {
    configuration: { hold_stall_ms: 100 },
    edit: (bootstrap) => {
      for (const plugin of wasmPlugins(bootstrap)) delete plugin["allow_on_headers_stop_iteration"];
    },
  });
  for (let i = 0; i < 10; i++) {
    const session = new Conversation(`Question ${i}`);
    assert.equal((await takeTurn(fleet.envoy.url, session, "more")).status, 200);
    assert.equal((await takeTurn(fleet.envoy.url, session, "more")).status, 200);
  }
  const warnings = logged(fleet, /allow_on_headers_stop_iteration/);
  assert.ok(warnings >= 1 && warnings <= 2, fleet.envoy.log());
});
