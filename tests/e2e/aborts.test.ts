// SPDX-License-Identifier: Apache-2.0
// However a stream ends, it is counted once and taken out of flight: clients that leave, endpoints that cut.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type ClientRequest } from "node:http";
import { test } from "node:test";
import { CHAT_PATH, responseTo, send } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { sha256, type Answer } from "./harness/endpoint.ts";
import { outcomes, startFleet, until, type Fleet } from "./harness/fleet.ts";
import { on, seesEveryRequest, ROUTING_WAYS, type Way } from "./harness/ways.ts";

const ABORTS = 500;
const RESETS = 100;
const PARALLEL = 25;

/** What the endpoint does is part of the request: answer, keep silent, stream for ever, or cut the connection. */
const answerAsTold: Answer = (exchange, response) => {
  const { behaviour } = JSON.parse(exchange.body.toString()) as { behaviour?: string };
  if (behaviour === "silent") return;
  if (behaviour === "cut") {
    exchange.socket.destroy();
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
  if (behaviour === "cut-in-stream") setImmediate(() => exchange.socket.destroy());
  if (behaviour === undefined) response.end("data: [DONE]\n\n");
};

function bodyOf(index: number, behaviour?: string): string {
  return new Conversation(`Question ${index}`, { fields: { behaviour, stream: true } }).body();
}

function open(fleet: Fleet, lengthBytes: number): ClientRequest {
  const outgoing = request(fleet.envoy.url + CHAT_PATH, {
    method: "POST",
    headers: { "content-length": lengthBytes },
    agent: false,
  });
  outgoing.on("error", () => {}); // Destroyed on purpose.
  return outgoing;
}

async function abortWhileSending(fleet: Fleet, index: number): Promise<void> {
  const body = bodyOf(index, "silent");
  const outgoing = open(fleet, Buffer.byteLength(body));
  await new Promise((resolve) => outgoing.write(body.slice(0, body.length / 2), resolve));
  outgoing.destroy();
}

async function abortWhileWaiting(fleet: Fleet, index: number): Promise<void> {
  const body = bodyOf(index, "silent");
  const outgoing = open(fleet, Buffer.byteLength(body));
  const hash = sha256(body);
  outgoing.end(body);
  await until("an endpoint has it", () =>
    fleet.exchanges.some((exchange) => exchange.bodySha256 === hash),
  );
  outgoing.destroy();
}

async function abortInStream(fleet: Fleet, index: number): Promise<void> {
  const body = bodyOf(index, "stream");
  const outgoing = open(fleet, Buffer.byteLength(body));
  outgoing.end(body);
  const incoming = await responseTo(outgoing);
  incoming.on("error", () => {}); // Destroyed on purpose.
  await once(incoming, "data");
  outgoing.destroy();
}

const ABORT_KINDS = [abortWhileSending, abortWhileWaiting, abortInStream];

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: PARALLEL }, lane));
}

/** Requests that Envoy has seen: a connection that is cut in time may never deliver its request. */
async function requestsSeen(fleet: Fleet): Promise<number> {
  const name = "http.llm.downstream_rq_total";
  return (await fleet.envoy.stats(`^${name}$`))[name] ?? 0;
}

async function assertNothingInFlight(fleet: Fleet, way: Way, atLeast: number): Promise<void> {
  const active = "^http\\.llm\\.downstream_rq_active$|^cluster\\.llm[^.]*\\.upstream_rq_active$";
  await until("Envoy has nothing in flight", async () =>
    Object.values(await fleet.envoy.stats(active)).every((value) => value === 0),
  );
  const seen = await requestsSeen(fleet);
  assert.ok(seen >= atLeast, `Envoy has seen ${seen} requests`);
  const counted = await outcomes(fleet);
  const total = Object.values(counted).reduce((sum, count) => sum + count, 0);
  if (seesEveryRequest(way)) assert.equal(total, seen, JSON.stringify(counted));
  else assert.ok(total >= atLeast && total <= seen, JSON.stringify(counted));
  await fleet.nothingInFlight();
}

for (const way of ROUTING_WAYS) {
  test(on(way, "500 client aborts and 100 upstream resets leave nothing in flight"), async (t) => {
    const fleet = await startFleet(t, { ...way, answer: answerAsTold });
    // Every endpoint must have served once, so that its gauge exists and is used.
    const warmUp = 16;
    await inParallel(warmUp, async (index) => {
      assert.equal((await send(fleet.envoy.url, bodyOf(index))).status, 200);
    });

    await t.test("client aborts", async () => {
      await inParallel(ABORTS, async (index) => {
        const abort = ABORT_KINDS[index % ABORT_KINDS.length] ?? abortInStream;
        await abort(fleet, index);
      });
      // Two of three kinds of abort wait for a sign that the request has arrived.
      await assertNothingInFlight(fleet, way, warmUp + Math.floor((ABORTS * 2) / 3));
    });

    await t.test("upstream resets", async () => {
      await inParallel(RESETS, async (index) => {
        const body = bodyOf(index, index % 2 === 0 ? "cut" : "cut-in-stream");
        await send(fleet.envoy.url, body).catch(() => undefined); // Cut short, as it must be.
      });
      await assertNothingInFlight(fleet, way, warmUp + Math.floor((ABORTS * 2) / 3) + RESETS);
    });

    await t.test("the fleet still serves", async () => {
      assert.equal((await send(fleet.envoy.url, bodyOf(0))).status, 200);
    });
  });
}
