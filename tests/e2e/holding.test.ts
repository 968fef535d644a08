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
import { HOLDING_WAYS, on } from "./harness/ways.ts";

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

function longConversation(sizeBytes: number): string {
  const session = new Conversation("Begin.");
  session.goOn("ok", "x".repeat(sizeBytes));
  return session.body();
}

function logged(fleet: Fleet, text: RegExp): number {
  return fleet.envoy
    .log()
    .split("\n")
    .filter((line) => text.test(line)).length;
}

for (const way of HOLDING_WAYS) {
  const limits: [string, (bootstrap: Bootstrap) => void, number][] = [
    ["32 KiB limits", tightLimits, 300_000],
    ["Envoy's default limits", defaultLimits, 3_000_000],
  ];
  for (const [what, edit, sizeBytes] of limits) {
    test(on(way, `bodies beyond ${what} pass untouched`), async (t) => {
      const fleet = await startFleet(t, { ...way, edit, configuration: { hold_stall_ms: 200 } });
      const body = longConversation(sizeBytes);
      for (let round = 0; round < 3; round++) {
        for (const reply of [
          await send(fleet.envoy.url, body),
          await send(fleet.envoy.url, body, { chunkBytes: 10_000 }),
          await sendHttp2(fleet.envoy.url, body),
        ]) {
          assert.equal(reply.status, 200);
        }
      }
      for (const exchange of fleet.exchanges) {
        assert.equal(exchange.bodySha256, sha256(body));
        // Long before the end the answer of the model has been read: a follow-up, whatever comes after it.
        assert.equal(exchange.headers["x-smetric-turn"], "2");
      }
      const buffered = way.bootstrap === "pin-buffered";
      const stalls = logged(fleet, /buffer limit is lower/);
      assert.ok(buffered ? stalls === 0 : stalls >= 1 && stalls <= 2, fleet.envoy.log());
    });
  }
}

for (const way of HOLDING_WAYS.filter(({ bootstrap }) => bootstrap !== "pin-buffered")) {
  test(on(way, "a client that stalls is let go with what is known"), async (t) => {
    const fleet = await startFleet(t, { ...way, size: 1, configuration: { hold_stall_ms: 100 } });
    const [endpoint] = fleet.endpoints;
    assert.ok(endpoint);
    const body = longConversation(1_000);
    const outgoing = request(fleet.envoy.url + CHAT_PATH, {
      method: "POST",
      headers: { "content-length": body.length },
      agent: false,
    });
    outgoing.write(body.slice(0, -500));
    await until("the request is let go", () => endpoint.heads === 1);
    outgoing.end(body.slice(-500));
    const incoming = await responseTo(outgoing);
    incoming.resume();
    assert.equal(incoming.statusCode, 200);
    const [exchange] = endpoint.exchanges;
    assert.equal(exchange?.bodySha256, sha256(body));
    assert.equal(exchange.headers["x-smetric-turn"], "2");
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
