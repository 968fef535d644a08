// SPDX-License-Identifier: Apache-2.0
// Admission on the real Envoy: sessions wait for room and go on in order, refusals, clients that leave, dry runs.
import assert from "node:assert/strict";
import { request } from "node:http";
import { test, type TestContext } from "node:test";
import { CHAT_PATH, send, takeTurn } from "./harness/client.ts";
import { Conversation } from "./harness/conversation.ts";
import { completion, type Exchange } from "./harness/endpoint.ts";
import { countsAreGiven, startFleet, until, type Fleet } from "./harness/fleet.ts";

/** Room for one session of these tests and not for two. */
const CAPACITY_TOKENS = 6_000;

/** About 4,000 tokens. */
const LONG_TEXT = "word ".repeat(4_000);

function longSession(name: string): Conversation {
  return new Conversation(`${name}: ${LONG_TEXT}`);
}

/** Answers that wait until the test lets them go, in the order in which requests arrived. */
class Gate {
  /** First words of what has arrived. */
  readonly arrived: string[] = [];
  #waiting: (() => void)[] = [];
  #open = true;

  close(): void {
    this.#open = false;
  }

  async pass({ body }: Exchange): Promise<void> {
    if (this.#open) return;
    this.arrived.push(/(\w+): word/.exec(body.toString())?.[1] ?? "");
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  /** Lets the oldest go. */
  releaseOne(): void {
    this.#waiting.shift()?.();
  }
}

async function startGated(
  t: TestContext,
  admission: object,
): Promise<{ fleet: Fleet; gate: Gate }> {
  const gate = new Gate();
  let serial = 0;
  const fleet = await startFleet(t, {
    size: 1,
    concurrency: 1, // Among workers the order holds within a tick only.
    configuration: {
      expose_decision: true,
      admission: {
        enabled: true,
        capacity_tokens: CAPACITY_TOKENS,
        window_percent: 100,
        ...admission,
      },
    },
    answer: async (exchange, response) => {
      await gate.pass(exchange);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(completion(exchange, ++serial)));
    },
  });
  // The endpoint becomes known.
  assert.equal((await send(fleet.envoy.url, new Conversation("Hello").body())).status, 200);
  gate.close();
  return { fleet, gate };
}

async function stat(fleet: Fleet, name: string): Promise<number> {
  await countsAreGiven(fleet);
  const stats = await fleet.envoy.stats(`^wasmcustom\\.${name.replaceAll(".", "\\.")}`);
  return Object.values(stats).reduce((sum, value) => sum + value, 0);
}

const held = (fleet: Fleet): Promise<number> => stat(fleet, "smetric_held");

async function assertQuiet(fleet: Fleet): Promise<void> {
  await until("nothing is in flight", async () => {
    const sums = ["smetric_held", "smetric_in_flight", "smetric_pending_prefill_tokens"];
    return (await Promise.all(sums.map((name) => stat(fleet, name)))).every((sum) => sum === 0);
  });
}

test("sessions wait for room and go on in the order in which they came", async (t) => {
  const { fleet, gate } = await startGated(t, {});
  const names = ["first", "second", "third"];
  const replies = [];
  for (const [index, name] of names.entries()) {
    replies.push(send(fleet.envoy.url, longSession(name).body()));
    if (index === 0) await until("it is served", () => gate.arrived.length === 1);
    else await until("it waits", async () => (await held(fleet)) === index);
  }
  assert.deepEqual(gate.arrived, ["first"]);
  for (let index = 1; index <= names.length; index++) {
    gate.releaseOne();
    if (index < names.length) await until("the next goes on", () => gate.arrived.length > index);
  }
  const decisions = (await Promise.all(replies)).map(
    ({ headers }) => headers["x-smetric-decision"],
  );
  assert.deepEqual(decisions, ["first_turn", "admitted", "admitted"]);
  assert.deepEqual(gate.arrived, names);
  assert.equal(await stat(fleet, "smetric_admission.result.held"), 2);
  assert.equal(await stat(fleet, "smetric_decisions.reason.admitted"), 2);
  await until("the given capacity is shown", async () => {
    return (await stat(fleet, "smetric_capacity_tokens")) === CAPACITY_TOKENS;
  });
  await assertQuiet(fleet);
});

test("a client that leaves while it waits frees its place and reaches no endpoint", async (t) => {
  const { fleet, gate } = await startGated(t, {});
  const first = send(fleet.envoy.url, longSession("first").body());
  await until("the first is served", () => gate.arrived.length === 1);
  const body = longSession("second").body();
  const leaving = request(fleet.envoy.url + CHAT_PATH, { method: "POST", agent: false });
  leaving.on("error", () => undefined);
  leaving.end(body);
  await until("the second waits", async () => (await held(fleet)) === 1);
  const third = send(fleet.envoy.url, longSession("third").body());
  await until("the third waits", async () => (await held(fleet)) === 2);
  leaving.destroy();
  await until("the second has left", async () => (await held(fleet)) === 1);
  gate.releaseOne();
  await until("the third goes on", () => gate.arrived.length === 2);
  gate.releaseOne();
  for (const { status } of await Promise.all([first, third])) assert.equal(status, 200);
  assert.deepEqual(gate.arrived, ["first", "third"]);
  await assertQuiet(fleet);
});

test("first turns beyond the queue are refused with 429 and Retry-After where that is wanted", async (t) => {
  const { fleet, gate } = await startGated(t, { max_held: 1, refuse_first_turns: true });
  const served = send(fleet.envoy.url, longSession("first").body());
  await until("the first is served", () => gate.arrived.length === 1);
  const bodies = Array.from({ length: 8 }, (_, index) => longSession(`more${index}`).body());
  const refused: string[] = [];
  const others = bodies.map(async (body) => {
    const { status, headers } = await send(fleet.envoy.url, body);
    if (status === 429) refused.push(String(headers["retry-after"]));
    else assert.equal(status, 200);
  });
  await until("the rest waits", async () => (await held(fleet)) + refused.length === bodies.length);
  assert.equal(refused.length, bodies.length - 1);
  for (const seconds of refused) assert.match(seconds, /^\d+$/);
  const all = bodies.length + 1 - refused.length;
  for (let index = 1; index <= all; index++) {
    await until("one is served", () => gate.arrived.length >= index);
    gate.releaseOne();
  }
  await Promise.all([served, ...others]);
  await assertQuiet(fleet);
});

test("a dry run counts what it would hold and lets everybody go", async (t) => {
  const { fleet, gate } = await startGated(t, { dry_run: true });
  const replies = ["first", "second", "third"].map((name) =>
    send(fleet.envoy.url, longSession(name).body()),
  );
  await until("all are served", () => gate.arrived.length === 3);
  assert.equal(await held(fleet), 0);
  for (let index = 0; index < 3; index++) gate.releaseOne();
  for (const { status } of await Promise.all(replies)) assert.equal(status, 200);
  assert.ok((await stat(fleet, "smetric_admission.result.would_hold")) > 0);
  assert.equal(await stat(fleet, "smetric_admission.result.held"), 0);
  await assertQuiet(fleet);
});

test("a session that finds room at once goes home under its own reason", async (t) => {
  const { fleet } = await startGated(t, { capacity_tokens: 1_000_000 });
  const session = new Conversation("Short");
  fleet.endpoints[0]!.answer = (exchange, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(completion(exchange, 7)));
  };
  const decisions = [];
  for (let turn = 1; turn <= 3; turn++) {
    const reply = await takeTurn(fleet.envoy.url, session, `more ${turn}`);
    decisions.push(reply.headers["x-smetric-decision"]);
  }
  assert.deepEqual(decisions, ["first_turn", "home", "home"]);
  assert.equal(await stat(fleet, "smetric_decisions.reason.admitted"), 0);
  await assertQuiet(fleet);
});
