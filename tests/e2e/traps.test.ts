// SPDX-License-Identifier: Apache-2.0
// A VM traps: the other worker's streams go on, the memory survives, the gauges heal, and the filter is back at once.
import assert from "node:assert/strict";
import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";
import { before, test } from "node:test";
import { ENVOY_VERSION, OLDER_ENVOY_VERSION } from "../../envoy/find-envoy.ts";
import { CHAT_PATH, responseTo, send, takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { completion, type Answer } from "./harness/endpoint.ts";
import { startFleet, until, type Fleet } from "./harness/fleet.ts";
import { buildTrappingFilter } from "./harness/trapping-filter.ts";
import { on } from "./harness/ways.ts";

const STREAMS = 40;
const SESSIONS = 12;

let wasm = "";
before(async () => (wasm = await buildTrappingFilter()));

/** Event streams stay open until `end` is called. */
class OpenStreams {
  end: () => void = () => {};
  readonly #ended = new Promise<void>((resolve) => (this.end = resolve));
  readonly answer: Answer = async (exchange, response) => {
    if (!exchange.body.includes('"stream":true')) {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(completion(exchange, 1)));
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n');
    await this.#ended;
    response.end("data: [DONE]\n\n");
  };
}

async function openStream(fleet: Fleet, index: number): Promise<IncomingMessage> {
  const outgoing = request(fleet.envoy.url + CHAT_PATH, { method: "POST", agent: false });
  outgoing.on("error", () => {}); // Cut by the trap, half of them.
  outgoing.end(new Conversation(`Stream ${index}`, { fields: { stream: true } }).body());
  const incoming = await responseTo(outgoing);
  await once(incoming, "data");
  return incoming;
}

/** Whether the stream came to its proper end. */
async function isWhole(incoming: IncomingMessage): Promise<boolean> {
  let text = "";
  try {
    for await (const chunk of incoming) text += String(chunk);
  } catch {
    return false;
  }
  return text.endsWith("[DONE]\n\n");
}

async function takeTurns(fleet: Fleet, sessions: Conversation[]): Promise<string[]> {
  const homes: string[] = [];
  for (const session of sessions) {
    await until("it is served", async () => {
      const { status } = await takeTurn(fleet.envoy.url, session, "go on");
      assert.ok(status === 200 || status === 503);
      return status === 200;
    });
    homes.push(session.messages.at(-2)?.content?.split(" of ")[1] ?? "");
  }
  return homes;
}

for (const version of [ENVOY_VERSION, OLDER_ENVOY_VERSION]) {
  const way = { bootstrap: "pin", version };
  test(on(way, "a trap costs the streams of one worker and nothing else"), async (t) => {
    const streams = new OpenStreams();
    const fleet = await startFleet(t, { ...way, wasm, answer: streams.answer });
    const sessions = Array.from(
      { length: SESSIONS },
      (_, index) => new Conversation(`Question ${index}`),
    );
    await takeTurns(fleet, sessions);
    const homes = await takeTurns(fleet, sessions);
    const opened = await Promise.all(
      Array.from({ length: STREAMS }, (_, index) => openStream(fleet, index)),
    );
    const ends = opened.map(isWhole);

    const trapped = await send(fleet.envoy.url, new Conversation("Trap.").body(), {
      headers: { "x-test-trap": "1" },
    });
    assert.equal(trapped.status, 503);
    assert.match(fleet.envoy.log(), /proxy_on_request_headers failed/);
    assert.deepEqual(await takeTurns(fleet, sessions), homes);

    streams.end();
    const whole = (await Promise.all(ends)).filter(Boolean).length;
    assert.ok(whole > 0 && whole < STREAMS, `${whole} of ${STREAMS} streams survived`);
    await until("the gauges have healed", async () => {
      await takeTurns(fleet, sessions);
      return Object.values(await fleet.inFlight()).every((value) => value === 0);
    });
    assert.deepEqual(await takeTurns(fleet, sessions), homes);
  });
}
