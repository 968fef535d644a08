// SPDX-License-Identifier: Apache-2.0
// An endpoint that restarts at the address it had: its cache is gone, and only its answers tell.
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { takeTurn } from "./harness/client.ts";
import { Conversation, type Message } from "./harness/conversation.ts";
import { completion, type Exchange } from "./harness/endpoint.ts";
import { countsAreGiven, startFleet, type Fleet } from "./harness/fleet.ts";

const SESSIONS = 16;
const TURNS = 3;
/** Long enough that a lost prefix cannot be an estimate's error. */
const QUESTION_CHARS = 40_000;
const CHARS_PER_TOKEN = 4;
/** Reports in a row that contradict what was just confirmed, until the endpoint counts as restarted. */
const ENOUGH_REPORTS = 3;
/** When a prefix was served is remembered in seconds: what comes after the restart must be told from what was before. */
const REMEMBERED_MS = 1_100;

/** Prefix caches by address: every prefix of messages that was served there. */
class Caches {
  readonly #served = new Map<string, Set<string>>();

  lose(address: string): void {
    this.#served.delete(address);
  }

  /** Characters that were cached; all of the request is, afterwards. */
  take(address: string, messages: Message[]): number {
    const served = this.#served.get(address) ?? new Set();
    this.#served.set(address, served);
    let cached = 0;
    for (let end = 1; end <= messages.length; end++) {
      const prefix = JSON.stringify(messages.slice(0, end));
      if (served.has(prefix)) cached = prefix.length;
      served.add(prefix);
    }
    return cached;
  }

  /** Answers as engines do that report their cached tokens. */
  answer(exchange: Exchange, response: ServerResponse, serial: number): void {
    const { messages } = JSON.parse(exchange.body.toString()) as { messages: Message[] };
    const cached = this.take(exchange.endpoint, messages);
    const usage = {
      prompt_tokens: Math.ceil(JSON.stringify(messages).length / CHARS_PER_TOKEN),
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: Math.floor(cached / CHARS_PER_TOKEN) },
    };
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...completion(exchange, serial), usage }));
  }
}

interface Turn {
  endpoint: string;
  decision: string;
}

/** One turn of each session, one after the other. */
async function takeTurns(fleet: Fleet, sessions: Conversation[]): Promise<Turn[]> {
  const turns: Turn[] = [];
  for (const session of sessions) {
    const seen = new Map(fleet.endpoints.map((one) => [one, one.exchanges.length]));
    const reply = await takeTurn(fleet.envoy.url, session, "go on");
    assert.equal(reply.status, 200, reply.body.toString());
    const endpoint = fleet.endpoints.find((one) => one.exchanges.length > seen.get(one)!)!;
    const decision = String(endpoint.exchanges.at(-1)?.headers["x-smetric-decision"]);
    turns.push({ endpoint: endpoint.address, decision });
  }
  return turns;
}

test("after a restart at the same address a few answers tell, and nobody else is sent there in vain", async (t) => {
  const caches = new Caches();
  let serial = 0;
  const fleet = await startFleet(t, {
    size: 2,
    concurrency: 1,
    answer: (exchange, response) => caches.answer(exchange, response, ++serial),
  });
  const sessions = Array.from(
    { length: SESSIONS },
    (_, index) => new Conversation(`${index} says ${`word ${index} `.repeat(QUESTION_CHARS / 8)}`),
  );
  let turns = await takeTurns(fleet, sessions);
  for (let turn = 1; turn < TURNS; turn++) turns = await takeTurns(fleet, sessions);
  assert.ok(
    turns.every(({ decision }) => decision === "home"),
    JSON.stringify(turns),
  );

  const [lost] = fleet.endpoints;
  assert.ok(lost !== undefined);
  const isLost = turns.map(({ endpoint }) => endpoint === lost.address);
  const concerned = isLost.filter(Boolean).length;
  assert.ok(concerned > ENOUGH_REPORTS, `${concerned} sessions are at ${lost.address}`);
  await setTimeout(REMEMBERED_MS);
  await lost.stop();
  caches.lose(lost.address);
  await lost.start();

  const after = await takeTurns(fleet, sessions);
  const inVain = after.filter(({ decision }, index) => isLost[index] && decision === "home");
  assert.ok(inVain.length >= 1 && inVain.length <= ENOUGH_REPORTS, JSON.stringify(after));
  for (const [index, turn] of after.entries()) {
    if (isLost[index]) continue;
    assert.deepEqual(turn, { endpoint: turns[index]!.endpoint, decision: "home" });
  }

  const again = await takeTurns(fleet, sessions);
  for (const [index, turn] of again.entries()) {
    assert.deepEqual(turn, { endpoint: after[index]!.endpoint, decision: "home" });
  }
  await countsAreGiven(fleet);
  const name = "wasmcustom.smetric_homes_voided";
  const voided = (await fleet.envoy.stats(`^${name}$`))[name] ?? 0;
  assert.ok(voided >= inVain.length, `${voided} homes were voided`);
  const horizons = await fleet.envoy.stats("^wasmcustom.smetric_evicted_idle_seconds.fleet.");
  const told = Object.keys(horizons);
  assert.equal(told.length, 1, `horizons: ${told.join(", ")}`);
  await fleet.nothingInFlight();
});
