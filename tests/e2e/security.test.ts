// SPDX-License-Identifier: Apache-2.0
// Nobody but the filter speaks in x-smetric-* headers: not clients, not endpoints; and clients see them only on request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { send, takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { completion } from "./harness/endpoint.ts";
import { startFleet } from "./harness/fleet.ts";
import { honoursHealth, on, ROUTING_WAYS, writesDecisionHeaders } from "./harness/ways.ts";

const OWN = /^x-smetric-/;

for (const way of ROUTING_WAYS) {
  test(on(way, "forged headers of clients and endpoints are stripped"), async (t) => {
    const fleet = await startFleet(t, {
      ...way,
      answer: (exchange, response) => {
        response.writeHead(200, {
          "content-type": "application/json",
          "x-smetric-decision": "forged",
          "x-smetric-endpoint": "forged",
          "X-Smetric-Anything": ["a", "b"],
        });
        response.end(JSON.stringify(completion(exchange, 1)));
      },
    });
    const [target] = fleet.endpoints;
    assert.ok(target);
    const pin = Buffer.from(target.address).toString("base64");
    for (let i = 0; i < 40; i++) {
      const reply = await send(fleet.envoy.url, new Conversation(`Question ${i}`).body(), {
        headers: {
          "x-smetric-endpoint": !honoursHealth(way) ? target.address : pin,
          "X-SMETRIC-Turn": "7",
          "x-smetric-session": ["one", "two"],
          "x-smetric-unheard-of": "1",
        },
      });
      assert.equal(reply.status, 200);
      assert.deepEqual(
        Object.keys(reply.headers).filter((name) => OWN.test(name)),
        [],
      );
    }
    assert.ok(target.exchanges.length < 40, "the forged pin was obeyed");
    for (const { headers } of fleet.exchanges) {
      const turn = writesDecisionHeaders(way) ? "1" : undefined;
      assert.equal(headers["x-smetric-turn"], turn);
      assert.equal(headers["x-smetric-unheard-of"], undefined);
      assert.notEqual(headers["x-smetric-session"], "one, two");
    }
  });
}

test("the decision is shown to clients where the operator says so", async (t) => {
  const fleet = await startFleet(t, { configuration: { expose_decision: true } });
  const session = new Conversation("hello");
  const first = await takeTurn(fleet.envoy.url, session, "more");
  const second = await takeTurn(fleet.envoy.url, session, "more");
  assert.equal(first.headers["x-smetric-decision"], "first_turn");
  assert.equal(second.headers["x-smetric-decision"], "home");
});

test("tenants do not share homes", async (t) => {
  const fleet = await startFleet(t, {
    configuration: { tenant_header: "x-tenant", expose_decision: true },
  });
  const session = new Conversation("hello");
  await takeTurn(fleet.envoy.url, session, "more", { headers: { "x-tenant": "a" } });
  const decisionFor = async (tenant: string): Promise<unknown> => {
    const reply = await send(fleet.envoy.url, session.body(), { headers: { "x-tenant": tenant } });
    return reply.headers["x-smetric-decision"];
  };
  assert.equal(await decisionFor("b"), "cold");
  assert.equal(await decisionFor("a"), "home");
});

test("headers up to Envoy's limit pass, larger ones are Envoy's to refuse", async (t) => {
  const fleet = await startFleet(t);
  const session = new Conversation("hello");
  session.goOn("hi", "more");
  const reply = await send(fleet.envoy.url, session.body(), {
    headers: { "x-long": "y".repeat(50_000), "x-session-id": "z".repeat(5_000) },
  });
  assert.equal(reply.status, 200);
  assert.equal(fleet.exchanges[0]?.headers["x-smetric-turn"], "2");
  const refused = await send(fleet.envoy.url, session.body(), {
    headers: { "x-long": "y".repeat(64_000) },
  });
  assert.equal(refused.status, 431);
  assert.equal((await send(fleet.envoy.url, session.body())).status, 200);
});
